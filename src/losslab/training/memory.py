"""Memory that does not suffice: one line that says for what, instead of a traceback of torch."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import torch

from losslab.errors import TrainingFailedError

P = ParamSpec("P")
T = TypeVar("T")


class Job(Protocol):
    """What is told of a training: its loss, recipe and seed."""

    loss: Any
    recipe: Any
    seed: int


J = TypeVar("J", bound=Job)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory did not suffice; on a CPU torch has no exception of its own for it."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )


def explains_memory(train: Callable[Concatenate[J, P], T]) -> Callable[Concatenate[J, P], T]:
    """Decorator of a training: raise TrainingFailedError where memory does not suffice."""

    @wraps(train)
    def explained(job: J, /, *args: P.args, **options: P.kwargs) -> T:
        try:
            return train(job, *args, **options)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            raise TrainingFailedError(
                f"{job.loss.name}, seed {job.seed}: memory does not suffice for the recipe "
                f"{job.recipe.name}; make its model, max_length or batch_size smaller"
            ) from error

    return explained
