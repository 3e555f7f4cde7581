"""The training loop: steps of one optimiser, a validation, the best epoch so far."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from losslab.features.inputs import scoring_batches
from losslab.losses.checks import NaNLogitsError
from losslab.parameters import TrainingSettings
from losslab.training.batches import SplitDataset, shuffled_batches
from losslab.training.network import ModelWithLoss
from losslab.training.non_finite import NonFinite
from losslab.training.optimizer import learning_rate_factor, make_optimizer
from losslab.training.processes import (
    as_the_first,
    gather_objects,
    own_device,
    own_share,
    process_count,
    process_rank,
    together,
)
from losslab.training.resources import KeptMemory, choose_precision, memory_in_use

Judge = Callable[[Any, np.ndarray], Mapping[str, float]]
HEAP_GROWS_FOR = 20  # steps, the longest batch first; the number was not tuned
SKIPPED_AT_MOST = 20  # steps in a row: a scale of 2**16 has come down to 2**-4 by then


@dataclass(frozen=True)
class Scored:
    """Documents as a process has scored them; with a ``fault``, their logits instead."""

    places: np.ndarray
    scores: np.ndarray
    loss: float
    fault: str | None

    def refuse_faults(self, documents: SplitDataset) -> None:
        """Stop where there is a fault."""
        if self.fault:
            raise NonFinite(self.fault, documents, self.places, torch.from_numpy(self.scores))


class Loop:
    """One training: the network, its optimiser, and how far it has come."""

    def __init__(
        self,
        network: ModelWithLoss,
        train: SplitDataset,
        *,
        settings: TrainingSettings,
        batch_size: int,
        seed: int,
        title: str,
    ) -> None:
        self.network, self.train, self.settings = network, train, settings
        self.batch_size, self.random = batch_size, np.random.default_rng(seed)
        self.device = own_device()
        self.precision = choose_precision(settings.precision)
        self.scaler = torch.amp.GradScaler(
            self.device.type, enabled=self.precision == torch.float16
        )
        network.to(self.device)
        if settings.gradient_checkpointing:
            network.model.save_memory()
        if settings.compile:
            network.model.compile(dynamic=True)
        self.optimizer = make_optimizer(network, settings)
        self.module = together(network, self.device)
        self.memory, self.skipped = KeptMemory(), 0
        self.epoch, self.step, self.steps = 0, 0, settings.epochs * len(self._batches())
        self.random = np.random.default_rng(seed)
        hidden = True if process_rank() else None
        self.bar = tqdm(total=self.steps, desc=title, unit="step", disable=hidden, leave=False)

    def _batches(self) -> list[np.ndarray]:
        return shuffled_batches(self.train.lengths, self.batch_size, random=self.random)

    def parts(self) -> list[list[np.ndarray]]:
        """The batches of a new epoch, cut where it is evaluated; no part is empty.

        A training begins with its longest documents: if memory does not suffice, it shows at once.
        """
        batches = self._batches()
        if self.step == 0:
            longest = int(np.argmax([self.train.lengths[places].max() for places in batches]))
            batches[0], batches[longest] = batches[longest], batches[0]
        cuts = np.linspace(0, len(batches), self.settings.evaluations_per_epoch + 1).round()
        return [batches[int(a) : int(b)] for a, b in pairwise(np.unique(cuts))]

    def train_on(self, batches: list[np.ndarray], epoch: int) -> dict[str, float]:
        """Take a step on each batch; the figures of these steps."""
        start, rows, total = perf_counter(), 0, 0.0
        self.epoch = epoch
        self.module.train()
        for places in batches:
            total += self._take_step(places)
            rows += len(places)
            self.bar.update()
        return {
            "train_loss": total / len(batches),
            "train_learning_rate": self.optimizer.param_groups[0]["lr"],
            "train_documents_per_second": rows / (perf_counter() - start),
            "train_memory_gb": memory_in_use(self.device),
        }

    def _take_step(self, places: np.ndarray) -> float:
        batch = self._move(self.train.batch(own_share(places)))
        batch["context"]["epoch"] = self.epoch
        if self.step < self.settings.soft_targets_from_step and "soft_targets" in batch["context"]:
            batch["context"]["soft_targets"] = None
        try:
            with self._autocast():
                loss = self.module(**batch, total=len(places))
        except NaNLogitsError as error:
            raise self._fault(str(error), places) from error
        value = loss.item()
        if not np.isfinite(value):
            raise self._fault(f"the loss is {value}", places)
        self._update(loss, places)
        return value

    def _fault(self, fault: str, places: np.ndarray) -> NonFinite:
        return NonFinite(fault, self.train, places, self.network.last_logits)

    def _update(self, loss: Tensor, places: np.ndarray) -> None:
        rate = self.settings.learning_rate * learning_rate_factor(
            self.settings, self.step, self.steps
        )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.module.parameters(), self.settings.max_grad_norm)
        self._watch(norm.item(), places)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()  # now: the next forward pass needs the memory
        self.step += 1
        if self.step == HEAP_GROWS_FOR:
            self.memory.stop_growing()

    def _watch(self, norm: float, places: np.ndarray) -> None:
        """Stop at a gradient that is not finite; a scaler may first look for a better scale."""
        self.skipped = 0 if np.isfinite(norm) else self.skipped + 1
        if self.skipped > (SKIPPED_AT_MOST if self.scaler.is_enabled() else 0):
            raise self._fault(f"the norm of the gradient is {norm}", places)

    def evaluate(self, documents: SplitDataset, judge: Judge) -> dict[str, float]:
        """Validation figures: the loss, and what ``judge`` makes of targets and scores."""
        self.module.eval()
        scores, loss = self._score_all(documents)
        leads = process_rank() == 0
        judged = as_the_first(judge(documents.targets.matrix(), scores) if leads else None)
        figures = {"loss": loss, **judged}
        return {f"validation_{name}": value for name, value in figures.items()}

    def _score_all(self, documents: SplitDataset) -> tuple[np.ndarray, float]:
        """Scores in float32, in the first process only, and the mean loss.

        Processes exchange what they have after each batch: memory for all scores is taken once,
        and a fault in one of them reaches all.
        """
        batches = scoring_batches(documents.lengths, at_least=self.batch_size)
        rank, count = process_rank(), process_count()
        scores, total = np.empty((0, 0), dtype=np.float32), 0.0
        for start in range(0, len(batches), count):
            own = batches[start : start + count][rank : rank + 1]
            for part in gather_objects([self._score(documents, places) for places in own]):
                part.refuse_faults(documents)
                total += part.loss * len(part.places)
                if rank == 0:
                    shape = (len(documents), part.scores.shape[1])
                    scores = scores if len(scores) else np.empty(shape, dtype=np.float32)
                    scores[part.places] = part.scores
        return scores, total / len(documents)

    def _score(self, documents: SplitDataset, places: np.ndarray) -> Scored:
        batch = self._move(documents.batch(places))
        loss, fault = float("nan"), None
        with torch.inference_mode(), self._autocast():
            try:
                loss = self.network(**batch).item()
                fault = None if np.isfinite(loss) else f"the loss is {loss}"
            except NaNLogitsError as error:
                fault = str(error)
            logits = self.network.last_logits
            shown = logits if fault else self.network.loss.scores(logits)
        return Scored(places, shown.cpu().numpy(), loss, fault)

    def _autocast(self) -> torch.autocast:
        half = self.precision != torch.float32
        return torch.autocast(self.device.type, self.precision if half else None, enabled=half)

    def _move(self, batch: Any) -> Any:
        """A batch on the device of the model; on a CPU it is there already."""
        if self.device.type == "cpu":
            return batch
        if isinstance(batch, dict):
            return {name: self._move(value) for name, value in batch.items()}
        return batch.to(self.device, non_blocking=True)
