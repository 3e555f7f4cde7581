"""The trainer: optimizer steps, learning-rate schedule, mixed precision, validation."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from math import ceil, cos, pi
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from losslab.features.inputs import scoring_batches
from losslab.losses.checks import NaNLogitsError
from losslab.parameters import TrainingSettings
from losslab.training.batches import SplitDataset, count_batches, shuffled_batches
from losslab.training.distributed import (
    broadcast_from_rank0,
    gather_objects,
    get_rank,
    local_device,
    local_rows,
    memory_in_use,
    resolve_precision,
    world_size,
    wrap_ddp,
)
from losslab.training.network import ModelWithLoss
from losslab.training.non_finite import NonFiniteBatch

ComputeMetrics = Callable[[Any, np.ndarray], Mapping[str, float]]
"""From targets and scores (documents x labels) to metrics."""
MAX_SKIPPED_STEPS = 20
"""In a row: a loss scale of 2**16 has come down to 2**-4 by then."""


@dataclass(frozen=True)
class ScoredBatch:
    """Scores and loss of a validation batch; with a ``fault``, logits instead of scores."""

    indices: np.ndarray
    scores: np.ndarray
    loss: float
    fault: str | None

    def raise_fault(self, split: SplitDataset) -> None:
        """Raise ``NonFiniteBatch`` if there is a fault."""
        if self.fault:
            raise NonFiniteBatch(self.fault, split, self.indices, torch.from_numpy(self.scores))


@dataclass
class Position:
    """Where a training stands: epoch, part of it, and what was summed over batches of the part.

    ``terms``: the sums of ``Loss.parts``.
    """

    epoch: int = 0
    part: int = 0
    batches: int = 0
    documents: int = 0
    loss: float = 0.0
    terms: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0


class Trainer:
    """One training run: network, optimizer and progress.

    ``after_batch`` is called after each batch of training and validation. At that moment, and after
    an evaluation, ``state_dict`` and the network's hold all that the rest depends on, but for the
    states of PyTorch's generators.
    """

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
        self.device = local_device()
        self.precision = resolve_precision(settings.precision)
        self.scaler = torch.amp.GradScaler(
            self.device.type, enabled=self.precision == torch.float16
        )
        network.to(self.device)
        if settings.gradient_checkpointing:
            network.model.enable_gradient_checkpointing()
        if settings.compile:
            network.model.compile(dynamic=True)
        self.optimizer = build_optimizer(network, settings)
        self.module = wrap_ddp(network, self.device)
        self.position, self.step, self.skipped = Position(), 0, 0
        per_epoch = count_batches(len(train), batch_size)
        self.epochs = max_epochs(settings, len(train), per_epoch)
        self.steps = self.epochs * per_epoch
        self._epoch_random = self.random.bit_generator.state
        self._started = perf_counter()
        self.after_batch: Callable[[], None] = lambda: None
        disable = True if get_rank() else None
        self.bar = tqdm(total=self.steps, desc=title, unit="step", disable=disable, leave=False)

    def _shuffle(self) -> list[np.ndarray]:
        return shuffled_batches(self.train.lengths, self.batch_size, random=self.random)

    def epoch_parts(self) -> list[list[np.ndarray]]:
        """The batches of a new epoch, cut at evaluations; no part is empty.

        The first batch of a training has the longest document: running out of memory shows at once.
        """
        self._epoch_random = self.random.bit_generator.state
        batches = self._shuffle()
        if self.position.epoch == 0:
            longest = int(np.argmax([self.train.lengths[indices].max() for indices in batches]))
            batches[0], batches[longest] = batches[longest], batches[0]
        cuts = np.linspace(0, len(batches), self.settings.evaluations_per_epoch + 1).round()
        return [batches[int(a) : int(b)] for a, b in pairwise(np.unique(cuts))]

    def train_on(
        self, batches: list[np.ndarray], position: Position | None = None
    ) -> dict[str, float]:
        """One optimizer step per batch; mean loss and its parts, steps so far, throughput, rate, memory.

        ``position``: how many of the batches are done, and their sums.
        """
        self.position = done = position or Position()
        start = perf_counter() - done.seconds
        self.module.train()
        for indices in batches[done.batches :]:
            done.loss += self._training_step(indices)
            for name, term in self.network.loss.parts.items():
                done.terms[name] = done.terms.get(name, 0.0) + term.item()
            done.documents += len(indices)
            done.batches += 1
            done.seconds = perf_counter() - start
            self.bar.update()
            self.after_batch()
        return {
            "train_loss": done.loss / len(batches),
            **{f"train_{name}": total / len(batches) for name, total in done.terms.items()},
            "train_steps": self.step,
            "train_learning_rate": self.optimizer.param_groups[0]["lr"],
            "train_documents_per_second": done.documents / done.seconds,
            "train_memory_gb": memory_in_use(self.device),
        }

    def seconds(self) -> float:
        """Seconds since the training began; the time between a kill and its resume is left out."""
        return perf_counter() - self._started

    def state_dict(self) -> dict[str, Any]:
        """``progress`` (plain data), and the states of optimizer and gradient scaler."""
        progress = {
            "position": asdict(self.position),
            "step": self.step,
            "skipped": self.skipped,
            "seconds": self.seconds(),
            "epoch_random": self._epoch_random,
        }
        optimizer, scaler = self.optimizer.state_dict(), self.scaler.state_dict()
        return {"progress": progress, "optimizer": optimizer, "scaler": scaler}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where ``state_dict`` was taken; ``epoch_parts`` draws the epoch again."""
        progress = state["progress"]
        self.position = Position(**progress["position"])
        self.step, self.skipped = progress["step"], progress["skipped"]
        self._started = perf_counter() - progress["seconds"]
        self.random.bit_generator.state = progress["epoch_random"]
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        self.bar.update(self.step - self.bar.n)

    def _training_step(self, indices: np.ndarray) -> float:
        batch = self._to_device(self.train.batch(local_rows(indices)))
        batch["context"]["epoch"] = self.position.epoch
        if self.step < self.settings.soft_targets_from_step and "soft_targets" in batch["context"]:
            batch["context"]["soft_targets"] = None
        try:
            with self._autocast():
                loss: Tensor = self.module(**batch, total=len(indices))
        except NaNLogitsError as error:
            raise self._non_finite(str(error), indices) from error
        value = loss.item()
        if not np.isfinite(value):
            raise self._non_finite(f"the loss is {value}", indices)
        self._update(loss, indices)
        return value

    def _non_finite(self, fault: str, indices: np.ndarray) -> NonFiniteBatch:
        return NonFiniteBatch(fault, self.train, indices, self.network.last_logits)

    def _update(self, loss: Tensor, indices: np.ndarray) -> None:
        rate = self.settings.learning_rate * learning_rate_factor(
            self.settings, self.step, self.steps
        )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        torch.autograd.backward(self.scaler.scale(loss))
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.module.parameters(), self.settings.max_grad_norm)
        self._check_gradient(norm.item(), indices)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()  # now: the next forward pass needs the memory
        self.step += 1

    def _check_gradient(self, norm: float, indices: np.ndarray) -> None:
        """Stop at a non-finite gradient; a gradient scaler may first lower its scale."""
        self.skipped = 0 if np.isfinite(norm) else self.skipped + 1
        if self.skipped > (MAX_SKIPPED_STEPS if self.scaler.is_enabled() else 0):
            raise self._non_finite(f"the norm of the gradient is {norm}", indices)

    def evaluate(self, split: SplitDataset, compute_metrics: ComputeMetrics) -> dict[str, float]:
        """Validation loss and metrics, their names prefixed with ``validation_``."""
        self.module.eval()
        scores, loss = self._score_split(split)
        local = compute_metrics(split.targets.matrix(), scores) if get_rank() == 0 else {}
        metrics = {"loss": loss, **broadcast_from_rank0(local)}
        return {f"validation_{name}": value for name, value in metrics.items()}

    def _score_split(self, split: SplitDataset) -> tuple[np.ndarray, float]:
        """Scores in float32, on rank 0 only, and the mean loss.

        Ranks exchange scores after each batch: memory for all scores is allocated once, and a fault
        on one rank reaches all.
        """
        batches = scoring_batches(split.lengths, min_size=self.batch_size)
        rank, count = get_rank(), world_size()
        scores, total = np.empty((0, 0), dtype=np.float32), 0.0
        for start in range(0, len(batches), count):
            local = batches[start : start + count][rank : rank + 1]
            for part in gather_objects([self._score(split, indices) for indices in local]):
                part.raise_fault(split)
                total += part.loss * len(part.indices)
                if rank == 0:
                    shape = (len(split), part.scores.shape[1])
                    scores = scores if len(scores) else np.empty(shape, dtype=np.float32)
                    scores[part.indices] = part.scores
            self.after_batch()
        return scores, total / len(split)

    def _score(self, split: SplitDataset, indices: np.ndarray) -> ScoredBatch:
        batch = self._to_device(split.batch(indices))
        loss, fault = float("nan"), None
        with torch.inference_mode(), self._autocast():
            try:
                loss = self.network(**batch).item()
                fault = None if np.isfinite(loss) else f"the loss is {loss}"
            except NaNLogitsError as error:
                fault = str(error)
            logits = self.network.last_logits
            scores = logits if fault else self.network.loss.scores(logits)
        return ScoredBatch(indices, scores.cpu().numpy(), loss, fault)

    def _autocast(self) -> torch.autocast:
        half = self.precision != torch.float32
        return torch.autocast(self.device.type, self.precision if half else None, enabled=half)

    def _to_device(self, batch: Any) -> Any:
        if self.device.type == "cpu":
            return batch
        if isinstance(batch, dict):
            return {name: self._to_device(value) for name, value in batch.items()}
        return batch.to(self.device, non_blocking=True)


def build_optimizer(network: ModelWithLoss, settings: TrainingSettings) -> torch.optim.Optimizer:
    """AdamW; weight decay for matrices only, not for biases, norms and parameters of the loss."""
    decayed: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            decay = parameter.ndim > 1 and not name.startswith("loss.")
            (decayed if decay else others).append(parameter)
    groups: list[dict[str, Any]] = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    fused = all(p.is_floating_point() and p.device.type != "mps" for p in network.parameters())
    return torch.optim.AdamW(groups, lr=settings.learning_rate, fused=fused)


def learning_rate_factor(settings: TrainingSettings, step: int, steps: int) -> float:
    """The factor of the learning rate at ``step``: linear warmup, then the schedule."""
    warmup = round(settings.warmup * steps)
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = min((step - warmup) / max(steps - warmup, 1), 1.0)
    if settings.schedule == "linear":
        return 1 - progress
    return (1 + cos(pi * progress)) / 2 if settings.schedule == "cosine" else 1.0


def max_epochs(settings: TrainingSettings, documents: int, steps_per_epoch: int) -> int:
    """The maximum of epochs: the recipe's, and more for a loss whose batches are larger.

    Such a loss has fewer steps in as many epochs. It gets more of them until it has ``min_steps``
    steps, or as many as the recipe's batch size gives.

    >>> from types import SimpleNamespace
    >>> settings = SimpleNamespace(epochs=300, batch_size=32, min_steps=3000)
    >>> max_epochs(settings, 640, 20), max_epochs(settings, 640, 2)
    (300, 1500)
    """
    usual = settings.epochs * count_batches(documents, min(settings.batch_size, documents))
    return max(settings.epochs, ceil(min(settings.min_steps, usual) / steps_per_epoch))
