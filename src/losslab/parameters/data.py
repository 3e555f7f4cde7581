"""parameters_data.yml: splits and undersampling."""

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from losslab.parameters.base import MAX_COUNT, Count, Seed, Settings


def _check_size(size: float) -> float:
    if not 0 < size <= MAX_COUNT or (size >= 1 and size != int(size)):
        raise ValueError(f"must be a share between 0 and 1, or a number of documents, got {size:g}")
    return size


Size = Annotated[float, AfterValidator(_check_size)]
"""A share (below 1) or a number of documents (from 1 on)."""


def _check_ascending(limits: list[int]) -> list[int]:
    if sorted(set(limits)) != limits:
        raise ValueError(f"each limit must be above the one before, got {limits}")
    return limits


CardinalityLimits = Annotated[list[Count], AfterValidator(_check_ascending)]
"""The most labels of a document in each band but the last."""


class SplitSettings(Settings):
    """Sizes of the splits a corpus does not prescribe, taken out of what is not in a given one.

    ``group_separator``: documents whose ids agree up to its last occurrence, such as the
    sentences 17-1 and 17-2 of one abstract, go to the same split. With ``folds`` all that is not
    test is cut into so many parts; number ``fold`` is validation, the others are train.
    """

    by: Literal["stratified", "hash"]
    validation: Size
    test: Size
    group_separator: str | None = Field(min_length=1)
    folds: int | None = Field(ge=2, le=1000, strict=True)
    fold: int = Field(ge=1, strict=True)
    seed: Seed

    @model_validator(mode="after")
    def _leave_some(self) -> "SplitSettings":
        total = sum(size for size in (self.validation, self.test) if size < 1)
        if total >= 1:
            raise ValueError(
                f"validation and test must leave something to train on, got {total:g} of all"
            )
        if self.group_separator and self.by != "hash":
            raise ValueError("group_separator needs by: hash, which decides by the ids alone")
        if self.fold > (self.folds or 1):
            raise ValueError(f"fold must be one of the {self.folds or 1} folds, got {self.fold}")
        return self


class UndersampleSettings(Settings):
    """Which labels of the training split to make rare, and how rare: give ``ratio`` or ``size``."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    labels: list[str] | None = Field(None, description="null: each label")
    keep: list[str] = Field([], description="labels to leave as they are")
    ratio: float | None = Field(None, gt=1, description="100: one document of a hundred stays")
    size: Count | None = Field(None, description="so many documents stay")
    seed: Seed = 0

    @model_validator(mode="after")
    def _one_measure(self) -> "UndersampleSettings":
        if (self.ratio is None) == (self.size is None):
            raise ValueError("give either ratio (100 for 1:100) or size (documents per label)")
        return self
