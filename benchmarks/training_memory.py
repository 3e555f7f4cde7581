"""Peak memory of fine-tuning and validating MiniLM with PubMed's 18,211 labels, batches of 32.

    python benchmarks/training_memory.py --max-length 256

Documents are made of random tokens, their lengths vary as those of abstracts do and a fifth is
truncated at the maximum: batches of many sizes fragment memory, batches of one size (``--full``: all
at the maximum) do not. The peak after a quarter of the steps shows whether it grows. 1,000 documents
are validated. Printed: peak resident set size of the process.
"""

import resource
from argparse import ArgumentParser
from functools import partial
from pathlib import Path

import numpy as np
import torch
import yaml
from scipy import sparse

from losslab.evaluation import judge_epoch, threshold_grid
from losslab.losses import LabelStatistics, build_loss
from losslab.models.text_model import build_model
from losslab.parameters import Recipe
from losslab.training.batches import SplitDataset
from losslab.training.network import ModelWithLoss
from losslab.training.trainer import Trainer

CONF = Path(__file__).parents[1] / "conf/base/parameters_training.yml"
LABELS, DOCUMENTS, PER_DOCUMENT, BATCH, STEPS = 18_211, 20_000, 16, 32, 160
VALIDATED = 1_000


def make_lengths(max_length: int, *, full: bool, random: np.random.Generator) -> np.ndarray:
    """Tokens of each document: around half the maximum."""
    drawn = random.lognormal(np.log(max_length / 2), 0.8, DOCUMENTS).astype(int)
    return np.full(DOCUMENTS, max_length) if full else drawn.clip(8, max_length)


def make_documents(max_length: int, *, full: bool) -> tuple[SplitDataset, SplitDataset]:
    """Random tokens and labels to train on, which would take 1.5 GB as a matrix, and to validate."""
    random = np.random.default_rng(0)
    rows = np.repeat(np.arange(DOCUMENTS), PER_DOCUMENT)
    columns = (LABELS * random.random(len(rows)) ** 3).astype(int)  # a few common, most rare
    marks = np.ones(len(rows), dtype=bool)
    offsets = np.append(0, make_lengths(max_length, full=full, random=random).cumsum())
    features = {
        "ids": random.integers(1000, 20_000, offsets[-1], dtype=np.uint16),
        "offsets": offsets,
        "pad": np.zeros(1, dtype=int),
    }
    targets = sparse.csr_array((marks, (rows, columns)), shape=(DOCUMENTS, LABELS))
    rows = np.arange(DOCUMENTS)
    return SplitDataset(features, targets, rows), SplitDataset(features, targets, rows[:VALIDATED])


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--full", action="store_true", help="all documents at the maximum length")
    parser.add_argument("--loss", default="bce")
    chosen = parser.parse_args()
    conf = yaml.safe_load(CONF.read_text())["recipes"]["minilm"]
    conf["model"]["max_length"] = chosen.max_length
    recipe = Recipe(name="minilm", **conf)
    documents, validation = make_documents(chosen.max_length, full=chosen.full)
    before = peak()
    torch.manual_seed(0)
    counts = LabelStatistics(range(1, LABELS + 1), DOCUMENTS, 0.5)
    network = ModelWithLoss(
        build_model(recipe.model, {}, num_labels=LABELS),
        build_loss(chosen.loss, counts),
        regularizers=recipe.training.regularizers,
    )
    trainer = Trainer(
        network, documents, settings=recipe.training, batch_size=BATCH, seed=0, title=chosen.loss
    )
    (batches,) = trainer.epoch_parts()
    trainer.train_on(batches[: STEPS // 4])
    early = peak()
    trainer.train_on(batches[STEPS // 4 : STEPS])
    trained = peak()
    trainer.evaluate(validation, partial(judge_epoch, grid=threshold_grid(0.3, 0.7, 0.01)))
    print(f"{chosen.loss}, {chosen.max_length} tokens, {LABELS:,} labels, batches of {BATCH}:")
    print(f"peak {early:.2f} GB after {STEPS // 4} steps, {before:.2f} before the model was made")
    print(f"peak {trained:.2f} GB after {STEPS} steps")
    print(f"peak {peak():.2f} GB with {VALIDATED:,} documents validated")


def peak() -> float:
    """The most the process has held so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    main()
