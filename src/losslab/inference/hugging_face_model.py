"""An encoder whose pooled tokens are classified, for transformers; needs nothing of losslab.

A copy of this file goes along with exported models: ``trust_remote_code=True`` runs it.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class LosslabConfig(PretrainedConfig):
    """``encoder``: the configuration of the backbone; ``pooling``: ``mean`` or ``cls``."""

    model_type = "losslab"

    def __init__(
        self, encoder: dict[str, Any] | None = None, pooling: str = "mean", **options: Any
    ) -> None:
        self.encoder, self.pooling = encoder or {}, pooling
        super().__init__(**options)


class LosslabForSequenceClassification(PreTrainedModel):
    """Pooled last hidden state of an encoder, and a linear layer."""

    config_class = LosslabConfig

    def __init__(self, config: LosslabConfig) -> None:
        super().__init__(config)
        facts = dict(config.encoder)
        encoder_config = AutoConfig.for_model(facts.pop("model_type"), **facts)
        self.encoder = AutoModel.from_config(encoder_config)
        if hasattr(self.encoder, "pooler"):
            self.encoder.pooler = None
        self.classifier = nn.Linear(encoder_config.hidden_size, len(config.id2label or ()))
        initialize: Callable[[], None] = self.post_init
        initialize()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, **_: Any
    ) -> SequenceClassifierOutput:
        """Logits: texts x labels."""
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        if self.config.pooling == "cls":
            pooled = hidden[:, 0]
        else:
            weights = attention_mask.unsqueeze(-1).to(hidden.dtype)
            pooled = (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp_min(1)
        return SequenceClassifierOutput(logits=self.classifier(pooled))
