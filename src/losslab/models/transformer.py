"""A pretrained encoder with a linear head, fine-tuned."""

from torch import Tensor, nn

from losslab.features.encoder import load_encoder, pool
from losslab.models.text_model import TextModel
from losslab.parameters import TransformerSettings


class Transformer(TextModel):
    """Pooled last hidden state of an encoder, dropout, a linear layer."""

    def __init__(
        self, settings: TransformerSettings, *, num_labels: int, pretrained: bool = True
    ) -> None:
        super().__init__()
        self.backbone = load_encoder(
            settings.backbone, attention_dropout=settings.attention_dropout, pretrained=pretrained
        )
        if hasattr(self.backbone, "pooler"):
            self.backbone.pooler = None  # unused parameters get no gradient, which DDP refuses
        self.pooling = settings.pooling
        self.dropout = nn.Dropout(settings.dropout)
        self.head = nn.Linear(self.backbone.config.hidden_size, num_labels)

    def embed(self, **inputs: Tensor) -> Tensor:
        """Token embeddings: documents x tokens x dim."""
        embedded: Tensor = self.backbone.get_input_embeddings()(inputs["input_ids"])
        return embedded

    def represent(self, embedded: Tensor, **inputs: Tensor) -> Tensor:
        """The pooled last hidden state: documents x hidden."""
        mask = inputs["attention_mask"]
        hidden = self.backbone(inputs_embeds=embedded, attention_mask=mask).last_hidden_state
        return pool(hidden, mask, self.pooling)

    def enable_gradient_checkpointing(self) -> None:
        """Recompute activations in the backward pass instead of keeping them."""
        self.backbone.gradient_checkpointing_enable(
            gradient_checkpointing_kwargs={"use_reentrant": False}
        )
