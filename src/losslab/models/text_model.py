"""What every model has in common: an embedding step, and logits from what it embedded."""

import logging

from torch import Tensor, nn

logger = logging.getLogger(__name__)


class TextModel(nn.Module):
    """A model in two steps, so that regularizers can move what lies between them.

    ``inputs`` are ``features`` (documents x width), or ``input_ids`` and ``attention_mask``
    (documents x tokens).
    """

    def embed(self, **inputs: Tensor) -> Tensor:
        """What the model makes of its inputs before it judges them."""
        raise NotImplementedError

    def classify(self, embedded: Tensor, **inputs: Tensor) -> Tensor:
        """Logits, documents x labels."""
        raise NotImplementedError

    def forward(self, **inputs: Tensor) -> Tensor:
        """Logits, documents x labels."""
        return self.classify(self.embed(**inputs), **inputs)

    def save_memory(self) -> None:
        """Trade time for memory in training, where the model has something to trade."""
        logger.warning(
            "%s has no layers to compute again: it trains as before", type(self).__name__
        )
