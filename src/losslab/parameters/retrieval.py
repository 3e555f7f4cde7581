"""parameters_retrieval.yml: splits of questions, two-tower models, references, metrics."""

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from losslab.parameters.base import MAX_COUNT, Count, NonNegative, Positive, Seed, Settings
from losslab.parameters.training import FrozenEncoder

Share = Annotated[float, Field(gt=0, lt=1)]


def _check_cutoffs(cutoffs: list[int]) -> list[int]:
    if not cutoffs or sorted(set(cutoffs)) != cutoffs:
        raise ValueError(f"each cutoff must be above the one before, got {cutoffs}")
    return cutoffs


Cutoffs = Annotated[list[Count], AfterValidator(_check_cutoffs)]
"""The k of Recall@k, ascending."""


class QuestionSplitSettings(Settings):
    """Shares of the questions; articles are never cut, so that no passage is in two splits."""

    validation: Share = Field(description="of a corpus without a test file")
    test: Share = Field(description="of a corpus without a test file")
    validation_of_train: Share = Field(description="of train, where the corpus has a test file")
    seed: Seed

    @model_validator(mode="after")
    def _leave_some(self) -> "QuestionSplitSettings":
        if self.validation + self.test >= 1:
            raise ValueError(
                "validation and test must leave something to train on, got "
                f"{self.validation + self.test:g} of all"
            )
        return self


class TwoTowerSettings(Settings):
    """The shared tower of questions and candidates, and the candidates of a batch."""

    embedding_dim: int = Field(
        ge=1, le=65_536, description="of a tower that learns its embeddings; a frozen one keeps its"
    )
    scale: Positive = Field(description="of the cosine: the inverse temperature of the softmax")
    negatives: int = Field(
        ge=0, le=MAX_COUNT, description="candidates sampled for each batch, beside its positives"
    )


class BM25Settings(Settings):
    """The reference BM25."""

    k1: NonNegative = Field(description="term-frequency saturation")
    b: float = Field(ge=0, le=1, description="length normalization")


class RetrievalSettings(Settings):
    """Two-tower model, references and cutoffs."""

    two_tower: TwoTowerSettings
    bm25: BM25Settings
    zero_shot: FrozenEncoder = Field(description="the encoder of the reference zero_shot")
    recall_at: Cutoffs
