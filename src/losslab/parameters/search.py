"""parameters_search.yml: the hyperparameter search of ``kedro search``."""

from pydantic import Field, field_validator

from losslab.parameters.base import MAX_COUNT, Positive, Settings


class SearchSettings(Settings):
    """How many trials each loss gets, and when one is given up.

    What is searched besides the learning rate stands in the signature of the loss's class.
    """

    trials: int = Field(
        ge=1, le=10_000, strict=True, description="per loss; the first is the default"
    )
    learning_rate: tuple[Positive, Positive] = Field(
        description="range, as factors of the recipe's learning rate"
    )
    startup_trials: int = Field(
        ge=1, le=10_000, strict=True, description="drawn at random and never pruned"
    )
    warmup_steps: int = Field(
        ge=0, le=MAX_COUNT, strict=True, description="optimizer steps before a trial can be pruned"
    )

    @field_validator("learning_rate")
    @classmethod
    def _is_a_range(cls, value: tuple[float, float]) -> tuple[float, float]:
        if not value[0] < value[1]:
            raise ValueError(f"must be a range, the smaller factor first, got {list(value)}")
        return value
