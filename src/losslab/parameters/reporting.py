"""parameters_reporting.yml: how losses are compared."""

from typing import Literal

from pydantic import Field, field_validator

from losslab.losses import LOSSES
from losslab.parameters.base import Seed, Settings
from losslab.parameters.suggestions import did_you_mean


class BootstrapSettings(Settings):
    """The report's part that a loss's metrics depend on: another reference leaves them current."""

    resamples: int
    confidence: float
    seed: int


class ReportSettings(Settings):
    """The reference, the bootstrap, and what becomes of results under other conditions."""

    reference: str
    resamples: int = Field(ge=100, le=100_000, strict=True)
    confidence: float = Field(gt=0, lt=1)
    seed: Seed
    on_mismatch: Literal["refuse", "mark"]

    @field_validator("reference")
    @classmethod
    def _is_a_loss(cls, name: str) -> str:
        if name not in LOSSES:
            raise ValueError(did_you_mean("loss", name, LOSSES))
        return name
