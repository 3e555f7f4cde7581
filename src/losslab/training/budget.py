"""How long and how hard to train: the same for every loss of a recipe."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Regularisers(BaseModel):
    """What is added to any loss while it trains; a weight of 0 leaves it out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rdrop: float = Field(ge=0, description="two dropout passes must agree")
    adversarial: float = Field(ge=0, description="virtual adversarial training")
    radius: float = Field(gt=0, description="how far an adversarial step goes")


class Budget(BaseModel):
    """The training settings of a recipe; their values stand in ``conf/``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epochs: int = Field(ge=1, description="epochs at most")
    patience: int = Field(ge=1, description="epochs without a better one before training ends")
    select_by: Literal["macro_f1", "micro_f1"] = Field(
        description="validation metric of the best epoch"
    )
    batch_size: int = Field(ge=1)
    learning_rate: float = Field(gt=0)
    weight_decay: float = Field(ge=0)
    max_grad_norm: float = Field(gt=0)
    warmup_steps: int = Field(ge=0)
    schedule: Literal["constant_with_warmup", "linear", "cosine"]
    threads: int | None = Field(ge=1, description="threads on a CPU; null: as many as there are")
    regularisers: Regularisers
