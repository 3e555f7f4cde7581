"""Recipes: a model and the budget it is trained with."""

from pydantic import BaseModel, ConfigDict

from losslab.models.settings import (
    LSTMSettings,
    ProbeSettings,
    TextCNNSettings,
    TransformerSettings,
)
from losslab.training.budget import Budget


class ProbeRecipe(ProbeSettings):
    """Frozen embeddings computed once, a head per loss: minutes on a CPU."""

    training: Budget


class TransformerRecipe(TransformerSettings):
    """A pretrained encoder, fine-tuned."""

    training: Budget


class TextCNNRecipe(TextCNNSettings):
    """A convolutional network from scratch."""

    training: Budget


class LSTMRecipe(LSTMSettings):
    """A recurrent network from scratch."""

    training: Budget


class Recipes(BaseModel):
    """The recipes by name; ``recipe`` picks one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    probe: ProbeRecipe
    textcnn: TextCNNRecipe
    lstm: LSTMRecipe
    minilm: TransformerRecipe
    paper: TransformerRecipe


Recipe = ProbeRecipe | TransformerRecipe | TextCNNRecipe | LSTMRecipe
