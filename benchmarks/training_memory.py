"""Peak memory of fine-tuning MiniLM with PubMed's 18,211 labels, batches of 32.

    python benchmarks/training_memory.py --max-length 256

Documents are made of random tokens, all of full length: the worst that the recipe can meet. The
figure is that of the whole process, Python and libraries included.
"""

import resource
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
import torch
import yaml
from scipy import sparse

from losslab.losses import LabelStatistics, build_loss
from losslab.models.build import build_model
from losslab.training.batches import Documents
from losslab.training.loop import Loop
from losslab.training.network import ModelWithLoss
from losslab.training.recipes import TransformerRecipe
from losslab.training.resources import lean_allocator

CONF = Path(__file__).parents[1] / "conf/base/parameters_losses.yml"
LABELS, DOCUMENTS, PER_DOCUMENT, BATCH, STEPS = 18_211, 20_000, 16, 32, 6


def make_documents(max_length: int) -> Documents:
    """Random tokens and labels; the targets would take 1.5 GB as a dense matrix."""
    random = np.random.default_rng(0)
    rows = np.repeat(np.arange(DOCUMENTS), PER_DOCUMENT)
    columns = (LABELS * random.random(len(rows)) ** 3).astype(int)  # a few common, most rare
    marks = np.ones(len(rows), dtype=bool)
    features = {
        "ids": random.integers(1000, 20_000, DOCUMENTS * max_length).astype(np.uint16),
        "offsets": np.arange(DOCUMENTS + 1) * max_length,
        "pad": np.zeros(1, dtype=int),
    }
    targets = sparse.csr_array((marks, (rows, columns)), shape=(DOCUMENTS, LABELS))
    return Documents(features, targets, np.arange(DOCUMENTS))


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--loss", default="bce")
    chosen = parser.parse_args()
    settings = yaml.safe_load(CONF.read_text())["recipes"]["minilm"]
    recipe = TransformerRecipe(**{**settings, "max_length": chosen.max_length})
    documents = make_documents(chosen.max_length)
    before = peak()
    torch.manual_seed(0)
    counts = LabelStatistics(range(1, LABELS + 1), DOCUMENTS, 0.5)
    network = ModelWithLoss(
        build_model(recipe, {}, labels=LABELS),
        build_loss(chosen.loss, counts),
        regularisers=recipe.training.regularisers,
    )
    loop = Loop(
        network, documents, budget=recipe.training, batch_size=BATCH, seed=0, title=chosen.loss
    )
    (batches,) = loop.parts()
    with lean_allocator():
        loop.train_on(batches[:STEPS], 0)
    print(f"{chosen.loss}, {chosen.max_length} tokens, {LABELS:,} labels, batches of {BATCH}:")
    print(f"peak {peak():.2f} GB, of which {before:.2f} GB before the model was made")


def peak() -> float:
    """The most the process has held so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    main()
