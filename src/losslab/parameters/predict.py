"""parameters_predict.yml: labels of new texts, models for MLflow."""

from typing import Annotated

from pydantic import Field

from losslab.parameters.base import MAX_COUNT, Count, Seed, Settings

Columns = str | Annotated[list[str], Field(min_length=1)]


class PredictSettings(Settings):
    """Which model labels which texts, and what is told of them."""

    loss: str | None = Field(description="a loss or baseline; null: report.reference")
    seed: Seed | None = Field(description="of its trainings; null: the best on validation")
    rule: str | None = Field(description="decision rule; null: the primary one")
    file: str = Field(description="CSV, JSON lines, or a text on each line")
    text: Columns = Field(description="column of the text, or several")
    id: str | None = Field(description="column of an id")
    top: int = Field(
        ge=0, le=MAX_COUNT, description="labels whose probability is told though not predicted"
    )
    explain: bool = Field(description="name the words that each label hangs on")
    max_words: Count | None = Field(description="words of a text that are deleted to explain it")


class MlflowSettings(Settings):
    """What MLflow keeps of the losses besides figures."""

    log_models: bool = Field(description="the model of each loss's best seed")
    register_as: str | None = Field(
        description="register it as <register_as>-<loss>; null: do not register"
    )
