"""The one subclass of Hugging Face's Trainer: our batches, our losses, our record of each epoch."""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm
from transformers import PrinterCallback, ProgressCallback, Trainer, TrainerCallback

from losslab.losses.checks import NaNLogitsError
from losslab.training.errors import NonFiniteLossError
from losslab.training.events import EpochEnded, publish

SPEED_FIGURES = ("runtime", "samples_per_second", "steps_per_second", "epoch")


class RowBatches(Dataset):
    """Arrays and tensors with one row per document, fetched a whole batch at a time."""

    def __init__(self, targets: Tensor, **inputs: Tensor) -> None:
        self.columns = {"targets": targets, **inputs}

    def __len__(self) -> int:
        return len(self.columns["targets"])

    def __getitem__(self, row: int) -> dict[str, Tensor]:
        return {name: column[row] for name, column in self.columns.items()}

    def __getitems__(self, rows: list[int]) -> dict[str, Tensor]:
        """The rows as one batch: saves a dictionary and a stack per document."""
        return {name: column[rows] for name, column in self.columns.items()}


def rows_of(features: np.ndarray, targets: sparse.csr_array, rows: np.ndarray) -> RowBatches:
    """The chosen rows of features and targets."""
    return RowBatches(
        torch.from_numpy(targets[rows].toarray()).float(), features=torch.from_numpy(features[rows])
    )


class LossTrainer(Trainer):
    """Trainer that takes ready batches, stops at a non-finite loss and keeps a history.

    ``history`` has a row per epoch: ``epoch``, ``train_loss``, ``validation_loss``,
    ``learning_rate``, ``seconds`` and the metrics that ``judge`` returns for validation.
    """

    def __init__(
        self,
        *,
        loss_name: str,
        seed: int,
        judge: Callable[[np.ndarray, np.ndarray], Mapping[str, float]],
        callbacks: list[TrainerCallback],
        **options: Any,
    ) -> None:
        self.loss_name, self.seed, self.history = loss_name, seed, []
        super().__init__(
            data_collator=lambda batch: batch,
            compute_metrics=lambda output: dict(judge(output.label_ids, output.predictions)),
            callbacks=[*callbacks, _EpochRecord(self), _EpochBar(loss_name, seed)],
            **options,
        )
        self.model_accepts_loss_kwargs = False  # our losses are means over a batch already
        for noisy in (PrinterCallback, ProgressCallback):
            self.remove_callback(noisy)

    def compute_loss(self, model: nn.Module, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """As Trainer computes it, or ``NonFiniteLossError``."""
        self.model.epoch = int(self.state.epoch or 0)
        try:
            result = super().compute_loss(model, inputs, *args, **kwargs)
        except NaNLogitsError as error:
            raise self._non_finite(str(error)) from error
        loss = result[0] if isinstance(result, tuple) else result
        if not torch.isfinite(loss).all():
            raise self._non_finite(f"the loss is {loss.mean().item()}")
        return result

    def get_train_dataloader(self) -> DataLoader:
        """Full batches only, where there is one: a last batch of one would weigh like the others."""
        self.args.dataloader_drop_last = len(self.train_dataset) > self.args.train_batch_size
        try:
            return super().get_train_dataloader()
        finally:
            self.args.dataloader_drop_last = False  # validation takes every row

    def get_decay_parameter_names(self, model: nn.Module) -> list[str]:
        """Weights decay, a loss's own parameters do not."""
        return [name for name in super().get_decay_parameter_names(model) if "loss." not in name]

    def _non_finite(self, fault: str) -> NonFiniteLossError:
        step, epoch = self.state.global_step, self.state.epoch or 0
        place = f"step {step + 1}" if self.model.training else f"validation after epoch {epoch:.0f}"
        return NonFiniteLossError(f"{self.loss_name}, seed {self.seed}, {place}: {fault}")


class _EpochRecord(TrainerCallback):
    """Adds a row to the trainer's history at each evaluation and publishes it."""

    def __init__(self, trainer: LossTrainer) -> None:
        self.trainer = trainer
        self.logged: dict[str, float] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.started = perf_counter()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        self.logged.update(logs)

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any, **kwargs: Any) -> None:
        row = {
            "train_loss": self.logged["loss"],
            "train_learning_rate": self.logged["learning_rate"],
            "train_seconds": perf_counter() - self.started,
            **{
                f"validation_{name.removeprefix('eval_')}": value for name, value in metrics.items()
            },
        }
        row = {name: row[name] for name in row if name.split("_", 1)[-1] not in SPEED_FIGURES}
        epoch = round(state.epoch)
        self.trainer.history.append({"epoch": epoch, **row})
        publish(EpochEnded(self.trainer.loss_name, self.trainer.seed, epoch, row))


class _EpochBar(TrainerCallback):
    """One line in a terminal that counts epochs; nothing where the output is a pipe."""

    def __init__(self, loss_name: str, seed: int) -> None:
        self.title = f"{loss_name} seed {seed}"

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        total = round(args.num_train_epochs)
        self.bar = tqdm(total=total, desc=self.title, unit="epoch", disable=None, leave=False)

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any, **kwargs: Any) -> None:
        self.bar.set_postfix(macro_f1=f"{metrics['eval_macro_f1']:.3f}", refresh=False)
        self.bar.update()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.bar.close()
