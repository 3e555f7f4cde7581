"""What of a recipe shapes its model and what the model reads."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class ModelSettings(BaseModel):
    """What all models have in common; values stand in ``conf/``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_length: int = Field(ge=8, description="tokens a document may have")
    truncation: Literal["head", "head_tail"] = Field(
        description="what is kept of a longer one: its beginning, or beginning and end"
    )
    dropout: float = Field(ge=0, lt=1)


class EncoderSettings(ModelSettings):
    """A pretrained encoder: ``minilm`` (a Python package), a folder, or a name of the hub."""

    backbone: str
    pooling: Literal["cls", "mean"]


class ProbeSettings(EncoderSettings):
    """A small head on what the frozen encoder makes of a text."""

    hidden: int = Field(ge=0, description="0: no hidden layer")


class TransformerSettings(EncoderSettings):
    """The encoder itself, trained on."""

    attention_dropout: float | None = Field(
        None,
        ge=0,
        lt=1,
        description="null: as the encoder was made; above 0 there is no fused attention",
    )


class WordSettings(ModelSettings):
    """Words of the training texts with embeddings of their own."""

    words: int = Field(ge=1, description="size of the vocabulary at most")
    least_count: int = Field(ge=1, description="rarer words are unknown")
    lowercase: bool
    width: int = Field(ge=1, description="of the embeddings, where no vectors are given")
    vectors: str | None = Field(description="file with a word and its numbers on each line")


class TextCNNSettings(WordSettings):
    """Convolutions over windows of words, the strongest of each (Kim 2014)."""

    windows: tuple[int, ...] = Field(min_length=1)
    filters: int = Field(ge=1, description="per window")


class LSTMSettings(WordSettings):
    """A recurrent network in both directions, pooled over the words."""

    hidden: int = Field(ge=1, description="per direction")
    layers: int = Field(ge=1)
