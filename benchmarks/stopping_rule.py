"""Does every loss learn before it is judged? Small, medium and large simulated corpora.

Trains every multi-label loss with the budget and stopping rule of the recipe ``probe`` on random
projections of word counts, in place of embeddings, and prints a row per corpus and loss: epochs,
steps, best epoch, the metric it is selected by on validation and on held-out documents, each with
that of the best trivial prediction, and its mark: ``python benchmarks/stopping_rule.py``. Exits 1 if
a loss without a mark does not beat the trivial prediction on held-out documents.
"""

import argparse
import logging
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy import sparse

from losslab.data.readers.simulated import read_simulated
from losslab.evaluation import (
    best_trivial_metric,
    judge_epoch,
    predict_labels,
    training_facts,
)
from losslab.evaluation.confusion import label_counts, macro_f1
from losslab.features.inputs import inputs_of
from losslab.losses import LOSSES
from losslab.parameters import LossSettings, Recipe, losses_for_task
from losslab.supervision import describe_labels, frequency_groups
from losslab.training.job import TrainingData, TrainingJob, describe_job, load_network, run_seeds
from losslab.training.network import predict_scores

SIZES = {"small": 400, "medium": 2000, "large": 10_000}
LABELS, CARDINALITY, EMBEDDING_DIM, SHARES = 100, 1.5, 384, (0.7, 0.85)
SELECT_BY = "macro_f1"
CONF = Path(__file__).parents[1] / "conf/base/parameters_training.yml"
RECIPE = Recipe(name="probe", **yaml.safe_load(CONF.read_text())["recipes"]["probe"])


@dataclass(frozen=True)
class Simulation:
    """Embeddings and targets of a simulated corpus, and its splits."""

    data: TrainingData
    matrix: sparse.csr_array
    test: np.ndarray
    statistics: dict[str, Any]


def simulate(documents: int, labels: int = LABELS, seed: int = 0) -> Simulation:
    """A corpus of so many documents: 70 % train, 15 % validation, 15 % test."""
    shape = {"labels": labels, "cardinality": CARDINALITY, "seed": seed}
    corpus = read_simulated(documents=documents, **shape).documents
    names = sorted({name for carried in corpus["labels"] for name in carried})
    matrix = _indicator(corpus["labels"], {name: place for place, name in enumerate(names)})
    rows = np.arange(documents)
    train, validation, test = np.split(rows, [int(share * documents) for share in SHARES])
    statistics = describe_labels(matrix[train])
    statistics["groups"] = frequency_groups(statistics["frequencies"])
    dense = matrix.toarray().astype(np.float32)
    context = {"mask": matrix, "soft_targets": 0.9 * dense + 0.1 * dense[train].mean(axis=0)}
    groups = [int(name.split("-")[1]) % -(-labels // 5) for name in names]
    features = {"embeddings": _embed(corpus["text"])}
    data = TrainingData(
        features, matrix, train, validation, rows.astype(str), groups=groups, context=context
    )
    return Simulation(data, matrix, test, statistics)


def _indicator(sets: pd.Series, places: dict[str, int]) -> sparse.csr_array:
    """Rows x places of 0 and 1."""
    rows = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
    columns = [places[name] for each in sets for name in each]
    ones = np.ones(len(columns), dtype=np.int8)
    return sparse.csr_array((ones, (rows, columns)), shape=(len(sets), len(places)))


def _embed(texts: pd.Series) -> np.ndarray:
    """Unit vectors: word counts, projected at random."""
    words = texts.str.split().map(lambda each: sorted(set(each)))
    places = {word: place for place, word in enumerate(sorted({w for each in words for w in each}))}
    projection = np.random.default_rng(0).normal(size=(len(places), EMBEDDING_DIM))
    vectors = np.asarray(_indicator(words, places) @ projection)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def train(loss: str, corpus: Simulation, recipe: Recipe = RECIPE) -> dict[str, Any]:
    """The facts of a training, and what it and the best trivial prediction reach on test."""
    settings = LossSettings(name=loss, options=LOSSES[loss].defaults())
    job = describe_job(settings, recipe, corpus.statistics, "multi", select_by=SELECT_BY)
    model, history = run_seeds(job, corpus.data, range(1, 2))
    frequencies, truth = corpus.statistics["frequencies"], corpus.matrix[corpus.test]
    return {
        "loss": loss,
        **training_facts(history),
        "test": _test_metric(job, model, corpus),
        "test_trivial": best_trivial_metric(frequencies, truth, SELECT_BY),
        "seconds": float(history["train_seconds"].max()),
    }


def _test_metric(job: TrainingJob, model: dict[str, np.ndarray], corpus: Simulation) -> float:
    """Macro-F1 of held-out documents at the threshold tuned on validation."""
    network = load_network(job, model, 1, corpus.data.features, corpus.data.groups)
    scores = {
        name: predict_scores(network, inputs_of(corpus.data.features, rows))
        for name, rows in (("validation", corpus.data.validation), ("test", corpus.test))
    }
    tuned = judge_epoch(corpus.matrix[corpus.data.validation], scores["validation"], grid=None)
    predicted = sparse.csr_array(predict_labels({"threshold": tuned["threshold"]}, scores["test"]))
    return macro_f1(label_counts(corpus.matrix[corpus.test], predicted))


def as_row(size: str, facts: dict[str, Any]) -> str:
    """A row of the Markdown table."""
    cells = [
        size,
        facts["loss"],
        f"{facts['epochs']:g}",
        f"{facts['steps']}",
        f"{facts['best_epoch']:g}",
        facts["ended_by"],
        f"{facts['validation'][SELECT_BY]:.3f} ({facts['trivial'][SELECT_BY]:.3f})",
        f"{facts['test']:.3f} ({facts['test_trivial']:.3f})",
        f"{facts['seconds']:.0f}",
        facts["mark"] or "",
    ]
    return f"| {' | '.join(cells)} |"


def is_judged_untrained(facts: dict[str, Any]) -> bool:
    """Whether a loss without a mark is no better than a trivial prediction on held-out documents."""
    return not facts["mark"] and facts["test"] <= facts["test_trivial"]


def main() -> str | None:
    """Why to exit with 1."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--losses", default=",".join(losses_for_task("multi")))
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--seed", type=int, default=0, help="of the simulated corpora")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    print(
        "| corpus | loss | epochs | steps | best epoch | ended by | validation (trivial) |", end=""
    )
    print(" test (trivial) | s | mark |\n" + "|---" * 10 + "|")
    untrained = []
    for size in options.sizes.split(","):
        corpus = simulate(SIZES[size], seed=options.seed)
        for loss in options.losses.split(","):
            facts = train(loss, corpus)
            print(as_row(size, facts), flush=True)
            if is_judged_untrained(facts):
                untrained.append(f"{loss} ({size})")
    return f"judged before they had learned: {', '.join(untrained)}" if untrained else None


if __name__ == "__main__":
    sys.exit(main())
