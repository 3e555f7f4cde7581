"""Errors whose message says all a user needs: the command line prints it without a traceback."""

from dataclasses import dataclass

GATHERS = "gathers"
"""Tag of nodes that gather results of several losses; a ``Failure`` may be among them."""


class LosslabError(Exception):
    """What was wrong, where, and what to do.

    ``details`` is the dataset that lists more, if there is one; a run adds its path to the message.
    """

    details: str | None = None


class CorpusError(LosslabError, ValueError):
    """Raw files that cannot be read: which, where, and what was expected."""


class FetchError(LosslabError):
    """A dataset that could not be fetched: what, where, and what to do."""


class ParameterError(LosslabError, ValueError):
    """Parameters that are unknown or out of range."""


class EncoderError(LosslabError, ValueError):
    """An encoder or word vectors that cannot be loaded."""


class SupervisionError(LosslabError, ValueError):
    """Texts, labels or label groups that supervision cannot be made of."""


class NonFiniteLossError(LosslabError, FloatingPointError):
    """A loss or gradient that became NaN or infinite: which, and where."""


class NonFiniteScoresError(LosslabError, FloatingPointError):
    """Scores of a trained model that are NaN or infinite: which loss, seed and split."""


class TrainingFailedError(LosslabError, RuntimeError):
    """A training process that ended without a result."""


class SearchError(LosslabError, ValueError):
    """A study that cannot be continued: it is of another search, or open elsewhere."""


class IncomparableError(LosslabError, ValueError):
    """Results that differ in more than the loss."""


class LineageError(LosslabError, ValueError):
    """Saved data that were made of something else than what they are used with."""


class ModelError(LosslabError, ValueError):
    """A saved model that cannot be used, or texts that it cannot label: what, where, what to do."""


class NotApplicableError(LosslabError, ValueError):
    """A method that is not meant for data of this size: its result is left out, nothing has failed."""


class FailedNodesError(LosslabError, RuntimeError):
    """Nodes that failed while the rest of the run was finished."""


@dataclass(frozen=True)
class Failure:
    """Takes the place of a result that could not be made: which node failed, and why."""

    node: str
    reason: str


class Skipped(Failure):
    """Takes the place of a result that is left out: the method does not apply to the data."""
