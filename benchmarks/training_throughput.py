"""Documents a second in training: our loop beside Hugging Face's Trainer, taking turns in one run.

Fine-tunes MiniLM on Reuters (``LOSSLAB_MIRROR``) with bce, batches of 32, the same documents for all:

    python benchmarks/training_throughput.py --documents 2000 --max-length 256

- ours: batches of similar length, padded to the longest of each batch
- padded: Trainer, every document padded to the maximum length, as the papers' code does
- dynamic: Trainer, batches at random, padded to the longest of each batch
- grouped: Trainer, its own grouping by length

All four train the network that the recipe makes, quick dropout and fused attention included; how
freed memory is handled (``KeptMemory``) is part of our loop; Trainer has the thresholds that
glibc's allocator ends up with by itself.
Also printed: what share of the machine's best matrix-multiply rate our training reaches.
"""

import os
import tempfile
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
import yaml
from scipy import sparse
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers import Trainer, TrainingArguments

from losslab.data import encode_labels, label_space
from losslab.data.download.fetch import Ways, fetch
from losslab.data.readers import READERS
from losslab.features.compute import compute_features, learn_tokenizer
from losslab.losses import build_loss
from losslab.models.build import build_model
from losslab.parameters.training import TransformerRecipe
from losslab.training.batches import SplitDataset
from losslab.training.loop import Loop
from losslab.training.network import ModelWithLoss

CONF = Path(__file__).parents[1] / "conf/base/parameters_losses.yml"
BATCH = 32
ROUNDS = 2


@dataclass
class Setting:
    """A recipe and training documents of Reuters."""

    recipe: TransformerRecipe
    features: dict[str, np.ndarray]
    targets: sparse.csr_array

    def documents(self, places: np.ndarray) -> SplitDataset:
        return SplitDataset(self.features, self.targets, places)


def read_setting(number: int, max_length: int) -> Setting:
    with tempfile.TemporaryDirectory() as scratch:
        ways = Ways(mirror=os.environ["LOSSLAB_MIRROR"], progress=False)
        corpus = READERS["reuters"](fetch("reuters", Path(scratch), ways))
    documents = corpus.documents[corpus.documents["split"] == "train"].head(number)
    settings = yaml.safe_load(CONF.read_text())["recipes"]["minilm"]
    recipe = TransformerRecipe(**{**settings, "max_length": max_length})
    texts = list(documents["text"])
    features = compute_features(recipe, texts, learn_tokenizer(recipe, texts))
    targets = encode_labels(documents["labels"], label_space(documents["labels"]))
    return Setting(recipe, features, targets)


def make_network(setting: Setting) -> ModelWithLoss:
    torch.manual_seed(0)
    model = build_model(setting.recipe, {}, labels=setting.targets.shape[1])
    regularizers = setting.recipe.training.regularizers
    return ModelWithLoss(model, build_loss("bce"), regularizers=regularizers)


def make_loop(setting: Setting, places: np.ndarray) -> Loop:
    network, documents = make_network(setting), setting.documents(places)
    budget = setting.recipe.training
    return Loop(network, documents, budget=budget, batch_size=BATCH, seed=0, title="ours")


def time_ours(setting: Setting, places: np.ndarray) -> float:
    loop = make_loop(setting, places)
    (batches,) = loop.parts()
    start = perf_counter()
    with loop.memory:
        loop.train_on(batches, 0)
    return perf_counter() - start


class ForTrainer(torch.nn.Module):
    """The same network in the shape Trainer calls."""

    def __init__(self, network: ModelWithLoss) -> None:
        super().__init__()
        self.network = network

    def forward(self, targets: torch.Tensor, **inputs: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": self.network(inputs, targets, {})}


def time_trainer(kind: str, setting: Setting, places: np.ndarray) -> float:
    part = setting.documents(places)
    rows = [{"place": place, "input_ids": range(n)} for place, n in enumerate(part.lengths)]

    def collate(chosen: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        batch = part.batch(np.array([row["place"] for row in chosen]))
        inputs = batch["inputs"]
        if kind == "padded":
            room = setting.recipe.max_length - inputs["input_ids"].shape[1]
            inputs = {k: torch.nn.functional.pad(v, (0, room)) for k, v in inputs.items()}
        return {**inputs, "targets": batch["targets"]}

    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            ForTrainer(make_network(setting)),
            trainer_arguments(folder, kind),
            data_collator=collate,
            train_dataset=rows,
        )
        start = perf_counter()
        trainer.train()
        return perf_counter() - start


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


def count_operations(setting: Setting, places: np.ndarray) -> float:
    """Operations of matrix products in one epoch of ours, counted on a tenth of its batches."""
    loop = make_loop(setting, places)
    (batches,) = loop.parts()
    loop.network.train()
    sample = batches[:: max(1, len(batches) // 10)]
    # fused attention is not counted, the same in plain products is
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        for batch in sample:
            loop.network(**loop.train.batch(batch)).backward()
    return counter.get_total_flops() * len(batches) / len(sample)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    setting = read_setting(chosen.documents, chosen.max_length)
    seconds = dict.fromkeys(("ours", "padded", "dynamic", "grouped"), 0.0)
    operations, rates = 0.0, [peak_rate()]
    for turn in range(ROUNDS):  # each turn on its own share of the documents
        places = np.arange(turn, chosen.documents, ROUNDS)
        seconds["ours"] += time_ours(setting, places)
        for kind in ("padded", "dynamic", "grouped"):
            seconds[kind] += time_trainer(kind, setting, places)
        operations += count_operations(setting, places)
        rates.append(peak_rate())
    for kind, spent in seconds.items():
        rate, ratio = chosen.documents / spent, spent / seconds["ours"]
        print(f"{kind:8} {rate:7.1f} documents/s   ours is {ratio:.2f} times as fast")
    share = operations / seconds["ours"] / max(rates)
    print(f"share of the peak matrix-multiply rate ({max(rates) / 1e9:.0f} GFLOP/s): {share:.2f}")


if __name__ == "__main__":
    main()
