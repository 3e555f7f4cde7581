"""MLflow failures never fail the run."""

import logging
import traceback
from collections.abc import Callable
from types import TracebackType

logger = logging.getLogger(__name__)


class MlflowGuard:
    """Swallows what MLflow or kedro-mlflow raised and nothing else; the first failure is logged.

    Attributes:
        works: whether no call in a ``with`` block has failed yet.
        on_failure: called when the first one does.
    """

    def __init__(self) -> None:
        self.works = True
        self.on_failure: Callable[[], None] = lambda: None
        self._told = False

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception) or not raised_by_mlflow(error):
            return False
        self.warn(error)
        if self.works:
            self.works = False
            self.on_failure()
        return True

    def warn(self, error: Exception) -> None:
        """Log the first failure of a run, and no other."""
        if not self._told:
            self._told = True
            logger.warning("MLflow failed; what it misses is sent later: %s", error)


def raised_by_mlflow(error: BaseException) -> bool:
    """Whether the exception passed through a function of MLflow or kedro-mlflow."""
    modules = (
        frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)
    )
    return any(module.partition(".")[0] in ("mlflow", "kedro_mlflow") for module in modules)
