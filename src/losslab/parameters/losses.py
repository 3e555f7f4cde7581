"""The parameters of each loss and baseline; names, defaults and bounds stand in its class."""

from functools import cache
from numbers import Real
from typing import Annotated, Any, Literal

from pydantic import Field, create_model
from pydantic.functional_validators import AfterValidator

from losslab.baselines import BASELINES, METHODS
from losslab.data.corpus import Modality
from losslab.errors import ParameterError
from losslab.losses import LOSSES, Hyperparameter
from losslab.parameters.base import Positive, Settings

Task = Literal["multi", "single", "retrieval"]
RETRIEVAL_LOSSES = ("ce", "ls_classic", "ls_distill", "ls_tfidf", "kwls")
"""Losses over the candidates of a batch: hard labels first, then the soft targets of KWLS."""
LEARNING_RATE = "learning_rate"
"""What every loss may set besides its options; null: the recipe's."""


class LossSettings(Settings):
    """A loss, or a baseline, by name, with every option set.

    ``learning_rate`` is a loss's own; None: the recipe's.
    """

    name: str
    options: dict[str, Any] = Field(default_factory=dict)
    learning_rate: float | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Its options, and its learning rate where it has one of its own."""
        own = {} if self.learning_rate is None else {LEARNING_RATE: self.learning_rate}
        return {**self.options, **own}


def namespace(method: str) -> str:
    """The name of a loss's or baseline's pipeline, namespace, tag and parameters.

    >>> namespace("db"), namespace("svm")
    ('db_loss', 'svm_baseline')
    """
    return f"{method}_baseline" if method in BASELINES else f"{method}_loss"


def method_of(name: str) -> str:
    """The loss, baseline or reference of a namespace.

    >>> method_of("db_loss"), method_of("svm_baseline"), method_of("bm25_reference")
    ('db', 'svm', 'bm25')
    """
    return name.removesuffix("_loss").removesuffix("_baseline").removesuffix("_reference")


def fits_task(method: str, task: str) -> bool:
    """Whether a loss or baseline fits a task.

    >>> fits_task("kwls", "retrieval"), fits_task("bce", "retrieval"), fits_task("svm", "multi")
    (True, False, True)
    """
    return method in RETRIEVAL_LOSSES if task == "retrieval" else task in METHODS[method].tasks


def losses_for_task(task: str, modality: Modality = "text") -> list[str]:
    """The losses that fit a task, in the order of ``LOSSES``; of retrieval, hard labels first.

    Without those that learn from words where documents are images.
    """
    if task == "retrieval":
        return list(RETRIEVAL_LOSSES)
    return [
        name
        for name, loss in LOSSES.items()
        if fits_task(name, task) and not (modality == "image" and loss.reads_words)
    ]


def refuse_retrieval(task: str, command: str) -> None:
    """Raise ParameterError where a command is for documents with labels alone."""
    if task == "retrieval":
        raise ParameterError(
            f"kedro {command} is for documents with labels, and this dataset has questions: kedro "
            "run trains and compares what fits"
        )


def baselines_for_task(task: str, modality: Modality = "text") -> list[str]:
    """The baselines that fit a task, in the order of ``BASELINES``; all of them read words."""
    if modality == "image":
        return []
    return [name for name in BASELINES if fits_task(name, task)]


@cache
def option_model(name: str) -> type[Settings]:
    """The parameter model of a loss or baseline."""
    options = METHODS[name].options().items()
    fields: dict[str, Any] = {option: (_annotation(rule), rule.default) for option, rule in options}
    if name in LOSSES:
        fields[LEARNING_RATE] = (Positive | None, None)
    return create_model(namespace(name), __base__=Settings, **fields)


def _annotation(option: Hyperparameter) -> Any:
    """The option's own check instead of pydantic's, so that both ways in tell the same."""

    def check(value: Any) -> Any:
        option.check(value)
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else value

    return Annotated[Any, AfterValidator(check)]
