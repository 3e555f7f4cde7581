"""Early stopping: the history of a training, its best epoch, and when it ends."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from losslab.evaluation import beats_trivial
from losslab.training.distributed import get_rank
from losslab.training.events import EpochEnded, publish
from losslab.training.network import ModelWithLoss
from losslab.training.non_finite import copy_weights


class EarlyStopping:
    """The history of a training, the weights of its best epoch, and when to stop.

    The best epoch is the one of highest ``select_by`` among those that beat the best trivial
    predictions by every metric of ``trivial``. As long as there is none, it is the one of lowest
    validation loss. The earlier one wins a tie. Patience starts when the trivial predictions are
    beaten; it ends the training after ``patience`` epochs and at least ``patience_steps`` optimizer
    steps without a better epoch.

    Args:
        trivial: metrics of the best trivial predictions, see ``trivial_metrics``.
    """

    def __init__(
        self,
        name: str,
        seed: int,
        network: ModelWithLoss,
        select_by: str,
        patience: int,
        *,
        patience_steps: int = 0,
        trivial: Mapping[str, float] | None = None,
    ) -> None:
        self.name, self.seed, self.network = name, seed, network
        self.select_by, self.patience, self.patience_steps = select_by, patience, patience_steps
        self.trivial = dict(trivial or {})
        self.history: list[dict[str, float]] = []
        self.weights: dict[str, Tensor] = {}
        self.best, self.best_epoch, self.epoch = float("-inf"), 0.0, 0.0
        self.best_step, self.step = 0, 0
        self.beaten, self.merit = False, float("-inf")

    def update(self, epoch: float, metrics: dict[str, float]) -> None:
        """Record an evaluation; copy the weights if it is the best."""
        self.epoch, self.step = epoch, int(metrics["train_steps"])
        self.history.append({"epoch": epoch, **metrics})
        value = metrics[f"validation_{self.select_by}"]
        reached = {name: metrics[f"validation_{name}"] for name in self.trivial}
        beats = beats_trivial(reached, self.trivial)
        merit = value if beats else -metrics["validation_loss"]
        if (beats, merit) > (self.beaten, self.merit):
            self.beaten, self.merit = beats, merit
            self.best, self.best_epoch, self.best_step = value, epoch, self.step
            self.weights = copy_weights(self.network)
        if get_rank() == 0:
            publish(EpochEnded(self.name, self.seed, epoch, len(self.history), metrics))

    def should_stop(self) -> bool:
        """Whether patience has run out, in epochs and in steps."""
        epochs, steps = self.epoch - self.best_epoch, self.step - self.best_step
        return self.beaten and epochs >= self.patience and steps >= self.patience_steps

    @property
    def ended_by(self) -> str:
        """Why the training ended: ``patience``, or ``budget``, its last epoch."""
        return "patience" if self.should_stop() else "budget"

    def state_dict(self) -> dict[str, Any]:
        """All but the network: plain data, and the ``weights`` of the best epoch."""
        return {name: value for name, value in vars(self).items() if name != "network"}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where ``state_dict`` was taken."""
        vars(self).update(state)
