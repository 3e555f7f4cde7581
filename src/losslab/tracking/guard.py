"""MLflow failures never fail the run."""

import logging
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, TypeVar

logger = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


class MlflowGuard:
    """Swallows MLflow's exceptions: the first one is logged and turns tracking off.

    As a context manager it swallows what MLflow or kedro-mlflow raised and nothing else.

    Attributes:
        works: whether MLflow has not failed yet.
        on_failure: called once, when tracking is turned off.
    """

    def __init__(self) -> None:
        self.works = True
        self.on_failure: Callable[[], None] = lambda: None
        self._takes_statuses = True

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
        self.turn_off(error)
        return True

    def attempt(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Call MLflow, unless it failed before."""
        if not self.works:
            return None
        try:
            return call(*args, **kwargs)
        except Exception as error:  # noqa: BLE001
            self.turn_off(error)
            return None

    def set_status(self, call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Tell MLflow how a run ended, also after a failure: the server may be back.

        A server that misses one status is not asked again.
        """
        if not self._takes_statuses:
            return
        try:
            call(*args, **kwargs)
        except Exception as error:  # noqa: BLE001
            self._takes_statuses = False
            self.turn_off(error)

    def turn_off(self, error: Exception) -> None:
        """Stop tracking this run; the first call logs why."""
        if not self.works:
            return
        self.works = False
        logger.warning("MLflow failed, tracking is off for the rest of this run: %s", error)
        self.on_failure()


def raised_by_mlflow(error: BaseException) -> bool:
    """Whether the exception passed through a function of MLflow or kedro-mlflow."""
    modules = (
        frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)
    )
    return any(module.partition(".")[0] in ("mlflow", "kedro_mlflow") for module in modules)
