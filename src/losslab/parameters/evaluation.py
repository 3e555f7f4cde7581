"""parameters_evaluation.yml: the decision rules and the threshold grid."""

from typing import Literal

from pydantic import Field, model_validator

from losslab.parameters.base import Settings

Rule = Literal["tuned", "own", "per_label", "top_k", "scutfbr", "logit_adjusted"]
ValidationRule = Literal["tuned", "own"]
"""How epochs are judged: by the primary rule where it takes no fitting of its own, else tuned."""
MAX_THRESHOLDS = 10_000
"""Of a grid: each is tried on all validation scores after every epoch."""


class ThresholdGrid(Settings):
    """The thresholds that are tried on validation for one threshold of all labels."""

    start: float = Field(ge=0, le=1)
    stop: float = Field(ge=0, le=1)
    step: float = Field(gt=0, le=1)

    @model_validator(mode="after")
    def _in_order(self) -> "ThresholdGrid":
        if self.start > self.stop:
            raise ValueError(f"start must not be above stop, got {self.start} and {self.stop}")
        if (self.stop - self.start) / self.step >= MAX_THRESHOLDS:
            raise ValueError(
                f"a step of {self.step:g} makes more than {MAX_THRESHOLDS:,} thresholds; set a "
                "larger step, or threshold_grid to null, which tries every threshold there is"
            )
        return self
