"""The training loop: steps of one optimiser, a validation, the best epoch so far."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from math import cos, pi
from time import perf_counter
from typing import Any

import numpy as np
import psutil
import torch
from torch import Tensor, nn
from tqdm import tqdm

from losslab.losses.checks import NaNLogitsError
from losslab.models.inputs import ordered_batches
from losslab.training.batches import Documents, shuffled_batches
from losslab.training.budget import Budget
from losslab.training.network import ModelWithLoss
from losslab.training.non_finite import NonFinite
from losslab.training.processes import (
    gather_objects,
    own_device,
    process_count,
    process_rank,
    together,
)

Judge = Callable[[np.ndarray, np.ndarray], Mapping[str, float]]
LEAST_EVALUATION_BATCH = 256


class Loop:
    """One training: the network, its optimiser, and how far it has come."""

    def __init__(
        self,
        network: ModelWithLoss,
        train: Documents,
        *,
        budget: Budget,
        batch_size: int,
        seed: int,
        title: str,
    ) -> None:
        self.network, self.train, self.budget = network, train, budget
        self.batch_size, self.random = batch_size, np.random.default_rng(seed)
        self.device = own_device()
        self.precision = _precision(budget.precision)
        self.scaler = torch.amp.GradScaler(
            self.device.type, enabled=self.precision == torch.float16
        )
        network.to(self.device)
        if budget.gradient_checkpointing:
            network.model.save_memory()
        if budget.compile:
            network.model.compile(dynamic=True)
        self.optimizer = make_optimizer(network, budget)
        self.module = together(network, self.device)
        self.step, self.steps = 0, budget.epochs * len(self._batches())
        self.random = np.random.default_rng(seed)
        hidden = True if process_rank() else None
        self.bar = tqdm(total=self.steps, desc=title, unit="step", disable=hidden, leave=False)

    def _batches(self) -> list[np.ndarray]:
        return shuffled_batches(self.train.lengths, self.batch_size, random=self.random)

    def parts(self) -> list[list[np.ndarray]]:
        """The batches of a new epoch, cut where it is evaluated."""
        batches = self._batches()
        cuts = np.linspace(0, len(batches), self.budget.evaluations_per_epoch + 1).round()
        return [batches[int(a) : int(b)] for a, b in pairwise(cuts)]

    def train_on(self, batches: list[np.ndarray], epoch: int) -> dict[str, float]:
        """Take a step on each batch; the figures of these steps."""
        start, rows, total = perf_counter(), 0, 0.0
        self.module.train()
        for places in batches:
            total += self._take_step(_own_share(places), epoch)
            rows += len(places)
            self.bar.update()
        return {
            "train_loss": total / max(len(batches), 1),
            "train_learning_rate": self.optimizer.param_groups[0]["lr"],
            "train_documents_per_second": rows / (perf_counter() - start),
            "train_memory_gb": _memory(self.device),
        }

    def _take_step(self, places: np.ndarray, epoch: int) -> float:
        batch = self._move(self.train.batch(places))
        batch["context"]["epoch"] = epoch
        if self.step < self.budget.soft_targets_from_step and "soft_targets" in batch["context"]:
            batch["context"]["soft_targets"] = None
        try:
            with self._autocast():
                loss, _ = self.module(**batch)
        except NaNLogitsError as error:
            raise NonFinite(str(error), self.train, places) from error
        value = loss.item()
        if not np.isfinite(value):
            raise NonFinite(f"the loss is {value}", self.train, places)
        self._update(loss)
        return value

    def _update(self, loss: Tensor) -> None:
        rate = self.budget.learning_rate * learning_rate_factor(self.budget, self.step, self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.module.parameters(), self.budget.max_grad_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.step += 1

    def evaluate(self, documents: Documents, judge: Judge) -> dict[str, float]:
        """Validation figures: the loss, and what ``judge`` makes of targets and scores."""
        self.module.eval()
        batches = ordered_batches(documents.lengths, max(self.batch_size, LEAST_EVALUATION_BATCH))
        with torch.inference_mode(), self._autocast():
            own = [
                self._score(documents, batch)
                for batch in batches[process_rank() :: process_count()]
            ]
        parts = gather_objects(own)
        places = np.concatenate([part[0] for part in parts])
        scores = np.concatenate([part[1] for part in parts])[np.argsort(places)]
        loss = sum(part[2] * len(part[0]) for part in parts) / len(places)
        judged = judge(documents.targets.dense(), scores)
        figures = {"loss": loss, **judged}
        return {f"validation_{name}": value for name, value in figures.items()}

    def _score(
        self, documents: Documents, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        batch = self._move(documents.batch(places))
        try:
            loss, logits = self.network(batch["inputs"], batch["targets"], {})
        except NaNLogitsError as error:
            raise NonFinite(str(error), documents, places) from error
        if not torch.isfinite(loss):
            raise NonFinite(f"the loss is {loss.item()}", documents, places)
        return places, self.network.loss.scores(logits.double()).cpu().numpy(), loss.item()

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


def make_optimizer(network: ModelWithLoss, budget: Budget) -> torch.optim.Optimizer:
    """AdamW: matrices decay; biases, norms and a loss's own parameters do not."""
    decays, others = [], []
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            decay = parameter.ndim > 1 and not name.startswith("loss.")
            (decays if decay else others).append(parameter)
    groups = [
        {"params": decays, "weight_decay": budget.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=budget.learning_rate, fused=_can_fuse(network))


def learning_rate_factor(budget: Budget, step: int, steps: int) -> float:
    """The share of the learning rate at ``step``: warm-up, then the schedule."""
    warm = round(budget.warmup * steps)
    if step < warm:
        return (step + 1) / (warm + 1)
    done = min((step - warm) / max(steps - warm, 1), 1.0)
    if budget.schedule == "linear":
        return 1 - done
    return (1 + cos(pi * done)) / 2 if budget.schedule == "cosine" else 1.0


def _can_fuse(network: nn.Module) -> bool:
    return all(p.is_floating_point() and p.device.type != "mps" for p in network.parameters())


def _own_share(places: np.ndarray) -> np.ndarray:
    """This process's rows of a batch; all processes get the same number."""
    count = process_count()
    return places[: len(places) // count * count][process_rank() :: count]


def _precision(asked: str) -> torch.dtype:
    if asked == "auto":
        cuda = torch.cuda.is_available()
        half = cuda and torch.cuda.is_bf16_supported(including_emulation=False)
        asked = "bfloat16" if half else "float16" if cuda else "float32"
    return {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(asked, torch.float32)


def _memory(device: torch.device) -> float:
    """Gigabytes in use: the most since the start on CUDA, what the process holds on a CPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e9
    return float(psutil.Process().memory_info().rss) / 1e9
