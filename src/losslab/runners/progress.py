"""How far a run is: one line that changes in a terminal, a line per loss elsewhere."""

import logging
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from time import monotonic

from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

logger = logging.getLogger(__name__)


class Progress:
    """Losses done, running and remaining, and the time they will take.

    Args:
        nodes: by loss, how many nodes have to be computed.
    """

    def __init__(self, nodes: Mapping[str, int]) -> None:
        self._left = dict(nodes)
        self._total = len(nodes)
        self._running: dict[str, None] = {}
        self._started: float | None = None
        self._terminal = sys.stderr.isatty()
        self._stack = ExitStack()

    def __enter__(self) -> "Progress":
        shown = self._terminal and self._total > 1
        self._bar = self._stack.enter_context(
            tqdm(total=self._total, unit="loss", disable=not shown, leave=False)
        )
        if shown:
            self._stack.enter_context(logging_redirect_tqdm())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self, loss: str) -> None:
        """A node of ``loss`` is under way."""
        if loss in self._left:
            self._started = self._started or monotonic()
            self._running[loss] = None
            self._show()

    def complete(self, loss: str) -> None:
        """A node of ``loss`` is done, or has failed."""
        if loss not in self._left:
            return
        self._left[loss] -= 1
        if self._left[loss] <= 0:
            del self._left[loss]
            self._running.pop(loss, None)
            self._bar.update()
            self._show()
            if not self._terminal:
                self._tell(loss)

    def _show(self) -> None:
        self._bar.set_postfix_str(", ".join(self._running))

    def _tell(self, loss: str) -> None:
        done = self._total - len(self._left)
        seconds = monotonic() - (self._started or monotonic())
        rest = tqdm.format_interval(max(seconds, 0.0) / done * len(self._left))
        logger.info("%s: done (%d of %d, about %s left)", loss, done, self._total, rest)
