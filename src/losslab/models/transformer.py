"""A pretrained encoder with a linear head, trained as a whole."""

import os

from torch import Tensor, nn

from losslab.features.encoder import load_encoder, pool
from losslab.models.dropout import Dropout, quicken_dropout
from losslab.models.recompute import gelu_recomputed
from losslab.models.text_model import TextModel
from losslab.parameters import TransformerSettings


class Transformer(TextModel):
    """Logits from the pooled last layer of an encoder."""

    def __init__(self, settings: TransformerSettings, *, labels: int) -> None:
        super().__init__()
        _keep_no_code_by_shape()
        self.backbone = load_encoder(
            settings.backbone, attention_dropout=settings.attention_dropout
        )
        if hasattr(self.backbone, "pooler"):
            self.backbone.pooler = None  # unused weights would wait for a gradient
        quicken_dropout(self.backbone)
        self.pooling = settings.pooling
        self.dropout = Dropout(settings.dropout)
        self.head = nn.Linear(self.backbone.config.hidden_size, labels)

    def embed(self, **inputs: Tensor) -> Tensor:
        """Token embeddings: documents x tokens x width."""
        embedded: Tensor = self.backbone.get_input_embeddings()(inputs["input_ids"])
        return embedded

    def classify(self, embedded: Tensor, **inputs: Tensor) -> Tensor:
        """Logits, documents x labels."""
        mask = inputs["attention_mask"]
        with gelu_recomputed():
            hidden = self.backbone(inputs_embeds=embedded, attention_mask=mask).last_hidden_state
        pooled = pool(hidden, mask, self.pooling)
        logits: Tensor = self.head(self.dropout(pooled))
        return logits

    def save_memory(self) -> None:
        """Compute activations again in the backward pass instead of keeping them."""
        self.backbone.gradient_checkpointing_enable(
            gradient_checkpointing_kwargs={"use_reentrant": False}
        )


def _keep_no_code_by_shape() -> None:
    """Let oneDNN, which computes GELU on a CPU, make its code anew for each pass.

    It would keep what it made for 1,024 shapes. With batches of many lengths memory grew from step
    to step, and without that cache it did not (``benchmarks/training_memory.py``); presumably its
    small blocks lie between large ones and keep their gaps apart. oneDNN reads this once, at its
    first use in a process; a value that is set already stays.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "0")
