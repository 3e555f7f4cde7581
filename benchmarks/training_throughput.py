"""Training throughput: our trainer beside Hugging Face's Trainer, in turns within one run.

Fine-tunes MiniLM on Reuters (``LOSSLAB_MIRROR``) with bce, batches of 32, the same documents for all:

    python benchmarks/training_throughput.py --documents 2000 --max-length 256

- ours: batches of similar length, padded to the longest of each batch
- padded: Trainer, every document padded to the maximum length, as the papers' code does
- dynamic: Trainer, batches at random, padded to the longest of each batch
- grouped: Trainer, its own grouping by length

All four train the same network. On a shared machine CPU time is steadier than wall time: ratios of
both are printed, and the share of the machine's peak matrix-multiply rate that our training reaches.
"""

import os
import tempfile
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
import yaml
from scipy import sparse
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers import Trainer, TrainingArguments

from losslab.data import encode_labels, label_space
from losslab.data.download.fetch import FetchOptions, fetch
from losslab.data.readers import READERS
from losslab.features.compute import compute_features, learn_tokenizer
from losslab.losses import build_loss
from losslab.models.text_model import build_model
from losslab.parameters import Recipe
from losslab.training.batches import SplitDataset
from losslab.training.network import ModelWithLoss
from losslab.training.trainer import Trainer as OurTrainer

CONF = Path(__file__).parents[1] / "conf/base/parameters_training.yml"
BATCH = 32
ROUNDS = 2


@dataclass
class Setting:
    """A recipe and training documents of Reuters."""

    recipe: Recipe
    features: dict[str, np.ndarray]
    targets: sparse.csr_array

    def documents(self, indices: np.ndarray) -> SplitDataset:
        return SplitDataset(self.features, self.targets, indices)


def read_setting(number: int, max_length: int) -> Setting:
    with tempfile.TemporaryDirectory() as scratch:
        options = FetchOptions(mirror=os.environ["LOSSLAB_MIRROR"], progress=False)
        corpus = READERS["reuters"](fetch("reuters", Path(scratch), options))
    documents = corpus.documents[corpus.documents["split"] == "train"].head(number)
    conf = yaml.safe_load(CONF.read_text())["recipes"]["minilm"]
    conf["model"]["max_length"] = max_length
    recipe = Recipe(name="minilm", **conf)
    texts = list(documents["text"])
    features = compute_features(recipe.model, texts, learn_tokenizer(recipe.model, texts))
    targets = encode_labels(documents["labels"], label_space(documents["labels"]))
    return Setting(recipe, features, targets)


def make_network(setting: Setting) -> ModelWithLoss:
    torch.manual_seed(0)
    model = build_model(setting.recipe.model, {}, num_labels=setting.targets.shape[1])
    regularizers = setting.recipe.training.regularizers
    return ModelWithLoss(model, build_loss("bce"), regularizers=regularizers)


def make_trainer(setting: Setting, indices: np.ndarray) -> OurTrainer:
    network, documents = make_network(setting), setting.documents(indices)
    settings = setting.recipe.training
    return OurTrainer(network, documents, settings=settings, batch_size=BATCH, seed=0, title="ours")


def time_ours(setting: Setting, indices: np.ndarray) -> np.ndarray:
    trainer = make_trainer(setting, indices)
    (batches,) = trainer.epoch_parts()
    start = seconds()
    trainer.train_on(batches)
    return seconds() - start


def seconds() -> np.ndarray:
    """Wall and CPU time."""
    return np.array([perf_counter(), process_time()])


class ForTrainer(torch.nn.Module):
    """The same network in the shape Trainer calls."""

    def __init__(self, network: ModelWithLoss) -> None:
        super().__init__()
        self.network = network

    def forward(self, targets: torch.Tensor, **inputs: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": self.network(inputs, targets, {})}


def time_trainer(kind: str, setting: Setting, indices: np.ndarray) -> np.ndarray:
    part = setting.documents(indices)
    rows = [{"index": index, "input_ids": range(n)} for index, n in enumerate(part.lengths)]

    def collate(chosen: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        batch = part.batch(np.array([row["index"] for row in chosen]))
        inputs = batch["inputs"]
        if kind == "padded":
            room = setting.recipe.model.max_length - inputs["input_ids"].shape[1]
            inputs = {k: torch.nn.functional.pad(v, (0, room)) for k, v in inputs.items()}
        return {**inputs, "targets": batch["targets"]}

    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            ForTrainer(make_network(setting)),
            trainer_arguments(folder, kind),
            data_collator=collate,
            train_dataset=rows,
        )
        start = seconds()
        trainer.train()
        return seconds() - start


def trainer_arguments(folder: str, kind: str) -> TrainingArguments:
    grouping: dict[str, Any] = {}
    if kind == "grouped":
        grouping = {"train_sampling_strategy": "group_by_length"}
    return TrainingArguments(
        output_dir=folder,
        num_train_epochs=1,
        per_device_train_batch_size=BATCH,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        remove_unused_columns=False,
        label_names=["targets"],
        disable_tqdm=True,
        **grouping,
    )


def peak_rate(size: int = 2048) -> float:
    """The best rate of a large matrix product, operations a second."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    times = []
    for _ in range(5):
        start = perf_counter()
        torch.mm(a, b)
        times.append(perf_counter() - start)
    return 2 * size**3 / min(times)


def count_operations(setting: Setting, indices: np.ndarray) -> float:
    """Operations of matrix products in one epoch of ours, counted on a tenth of its batches."""
    trainer = make_trainer(setting, indices)
    (batches,) = trainer.epoch_parts()
    trainer.network.train()
    sample = batches[:: max(1, len(batches) // 10)]
    # fused attention is not counted, the same in plain products is
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        for batch in sample:
            trainer.network(**trainer.train.batch(batch)).backward()
    return counter.get_total_flops() * len(batches) / len(sample)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    setting = read_setting(chosen.documents, chosen.max_length)
    spent = {kind: np.zeros(2) for kind in ("ours", "padded", "dynamic", "grouped")}
    operations, rates = 0.0, [peak_rate()]
    for turn in range(ROUNDS):  # each turn on its own share of the documents
        indices = np.arange(turn, chosen.documents, ROUNDS)
        spent["ours"] += time_ours(setting, indices)
        for kind in ("padded", "dynamic", "grouped"):
            spent[kind] += time_trainer(kind, setting, indices)
        operations += count_operations(setting, indices)
        rates.append(peak_rate())
    for kind, (wall, cpu) in spent.items():
        ratio, cpu_ratio = np.array([wall, cpu]) / spent["ours"]
        print(
            f"{kind:8} {chosen.documents / wall:7.1f} documents/s   ours is {ratio:.2f} times as fast, "
            f"{cpu_ratio:.2f} by CPU time"
        )
    share = operations / spent["ours"][0] / max(rates)
    print(f"share of the peak matrix-multiply rate ({max(rates) / 1e9:.0f} GFLOP/s): {share:.2f}")


if __name__ == "__main__":
    main()
