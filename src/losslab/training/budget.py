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
    evaluations_per_epoch: int = Field(ge=1, le=20)
    select_by: Literal["macro_f1", "micro_f1"] = Field(
        description="validation metric of the best epoch"
    )
    batch_size: int = Field(ge=1)
    whole_batch_size: int = Field(
        ge=1, description="the least a loss gets that looks at a batch as a whole"
    )
    learning_rate: float = Field(gt=0)
    weight_decay: float = Field(ge=0)
    max_grad_norm: float = Field(gt=0)
    warmup: float = Field(ge=0, lt=1, description="share of all steps")
    schedule: Literal["constant_with_warmup", "linear", "cosine"]
    soft_targets_from_step: int = Field(ge=0, description="hard targets alone before it")
    precision: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        description="of the model, never of the loss; auto: half on CUDA, else float32"
    )
    compile: bool
    gradient_checkpointing: bool
    processes: int = Field(ge=1, description="that share each batch, a GPU each where there are")
    threads: int | None = Field(ge=1, description="threads on a CPU; null: as many as there are")
    regularisers: Regularisers
