"""What all parameter objects have in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

MAX_COUNT = 10**9
"""The largest number of anything."""
MAX_FLOAT = 1e38
"""Beyond it a number does not fit float32, in which models are trained."""
MAX_SEED = 2**32 - 1
"""The largest seed that every library takes."""
Count = Annotated[int, Field(ge=1, le=MAX_COUNT)]
Positive = Annotated[float, Field(gt=0, le=MAX_FLOAT)]
NonNegative = Annotated[float, Field(ge=0, le=MAX_FLOAT)]
Seed = Annotated[int, Field(ge=0, le=MAX_SEED, strict=True)]


class Settings(BaseModel):
    """A parameter object: read only, no unknown names, finite numbers; its values stand in ``conf/``."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
