"""Fitting a model with a loss: the same rule whatever the loss.

Validation after every epoch, the best epoch by one validation metric is kept, and training ends
when ``patience`` epochs in a row brought nothing better or ``epochs`` are over.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from transformers import EarlyStoppingCallback, TrainingArguments, set_seed
from transformers.utils.logging import set_verbosity_error

from losslab.training.budget import Budget
from losslab.training.events import TrainingStarted, publish
from losslab.training.network import ModelWithLoss
from losslab.training.trainer import LossTrainer, RowBatches

logger = logging.getLogger(__name__)
Judge = Callable[[np.ndarray, np.ndarray], Mapping[str, float]]


@dataclass(frozen=True)
class Fitted:
    """A trained model: its weights at the best epoch and a row of figures per epoch."""

    weights: dict[str, Tensor]
    history: pd.DataFrame
    best_epoch: int


def fit(
    make_network: Callable[[], ModelWithLoss],
    train: RowBatches,
    validation: RowBatches,
    *,
    budget: Budget,
    judge: Judge,
    name: str,
    seed: int,
) -> Fitted:
    """Train one network; ``judge(targets, scores)`` gives the validation metrics of an epoch."""
    publish(TrainingStarted(name, seed))
    logger.info("%s, seed %d: training starts", name, seed)
    set_seed(seed)
    set_verbosity_error()
    network = make_network()
    with TemporaryDirectory(prefix=f"losslab-{name}-") as folder:
        trainer = LossTrainer(
            loss_name=name,
            seed=seed,
            judge=judge,
            model=network,
            args=training_arguments(folder, budget, seed),
            train_dataset=train,
            eval_dataset=validation,
            callbacks=[EarlyStoppingCallback(early_stopping_patience=budget.patience)],
        )
        with cpu_threads(budget.threads):
            trainer.train()
    history = pd.DataFrame(trainer.history)
    best = int(history.loc[history[f"validation_{budget.select_by}"].idxmax(), "epoch"])
    logger.info("%s, seed %d: best epoch %d of %d", name, seed, best, len(history))
    weights = {key: value.detach().cpu() for key, value in network.state_dict().items()}
    return Fitted(weights, history, best)


@contextmanager
def cpu_threads(number: int | None) -> Iterator[None]:
    """Compute with ``number`` threads while the block runs; None changes nothing."""
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def training_arguments(folder: str, budget: Budget, seed: int) -> TrainingArguments:
    """The budget in the Trainer's words."""
    cuda = torch.cuda.is_available()
    half = cuda and torch.cuda.is_bf16_supported(including_emulation=False)
    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=budget.epochs,
        per_device_train_batch_size=budget.batch_size,
        per_device_eval_batch_size=max(budget.batch_size, 256),
        learning_rate=budget.learning_rate,
        weight_decay=budget.weight_decay,
        max_grad_norm=budget.max_grad_norm,
        warmup_steps=budget.warmup_steps,
        lr_scheduler_type=budget.schedule,
        bf16=half,
        fp16=cuda and not half,
        seed=seed,
        data_seed=seed,
        eval_strategy="epoch",
        logging_strategy="epoch",
        logging_nan_inf_filter=False,
        save_strategy="best",
        save_total_limit=1,
        save_only_model=True,
        load_best_model_at_end=True,
        metric_for_best_model=budget.select_by,
        greater_is_better=True,
        label_names=["targets"],
        remove_unused_columns=False,
        dataloader_pin_memory=cuda,
        disable_tqdm=True,
        report_to="none",
    )
    arguments._n_gpu = min(arguments.n_gpu, 1)  # a batch reaches its loss whole, on one device
    return arguments
