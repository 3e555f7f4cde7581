"""What all parameter objects have in common."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A parameter object: read only, no unknown names; its values stand in ``conf/``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
