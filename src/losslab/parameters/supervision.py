"""parameters_supervision.yml: frequency groups, keywords, soft labels, label groups."""

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from losslab.parameters.base import MAX_COUNT, Positive, Seed, Settings


class FrequencyGroupSettings(Settings):
    """Cut-offs of head, medium and tail; both null: thirds of the labels."""

    head_min: int | None = Field(ge=1, le=MAX_COUNT)
    tail_max: int | None = Field(ge=0, le=MAX_COUNT)

    @model_validator(mode="after")
    def _both_or_none(self) -> "FrequencyGroupSettings":
        if (self.head_min is None) != (self.tail_max is None):
            raise ValueError("head_min and tail_max must both be set or both be null")
        if (
            self.head_min is not None
            and self.tail_max is not None
            and self.head_min <= self.tail_max
        ):
            raise ValueError(
                f"head_min must be above tail_max, got {self.head_min} and {self.tail_max}"
            )
        return self


class KeywordSettings(Settings):
    """How texts become words, and the constants of KWLS."""

    lowercase: bool
    token_pattern: str
    segmenter: Literal["jieba"] | None = Field(description="for texts without spaces")
    k1: Positive = Field(description="BM25 term-frequency saturation, labels")
    b: float = Field(ge=0, le=1, description="BM25 length normalization, labels")
    k2: Positive = Field(description="BM25 term-frequency saturation, documents")

    @property
    def tokenization(self) -> dict[str, Any]:
        """The options that say how texts become words."""
        return self.model_dump(include={"lowercase", "token_pattern", "segmenter"})


class SoftLabelSettings(Settings):
    """Settings of the other soft labels."""

    eps: float = Field(ge=0, le=1, description="classic: the share spread over all labels")
    tf: Literal["log", "raw"] = Field(description="TF-IDF: ln(1 + f), or f")
    soft_zlpr: Literal["classic", "keywords"] = Field(
        description="what the targets of soft_zlpr are smoothed towards: uniform, or kwls's labels"
    )


class LabelGroupSettings(Settings):
    """How labels are grouped for ``mask_label``."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    by: Literal["communities", "prefix", "coarse", "polarity", "listed", "none"]
    separator: str = Field(min_length=1, description="for prefix and coarse")
    groups: dict[str, list[str]] | None = Field(description="labels by group, for listed")
    seed: Seed = Field(description="of the communities")
    resolution: Positive = Field(description="of the communities: more make them smaller")

    @model_validator(mode="after")
    def _groups_are_listed(self) -> "LabelGroupSettings":
        if self.by == "listed" and not self.groups:
            raise ValueError("by: listed needs groups, a list of labels for each group's name")
        return self
