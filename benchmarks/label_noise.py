"""How well doubts of gold labels find labels that are wrong; cleanlab beside them, where installed.

    kedro run                                       # or some losses: the scores are read
    python benchmarks/label_noise.py [--dataset cwe] [--recipe probe] [--flips 16] [--trials 30]

Flips labels of the test split, half of them given, half absent, and looks where ``find_suspects`` and a
plain ranking by doubt find them. No loss has seen the test labels: nothing is trained again.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors.numpy import load_file
from scipy import sparse

from losslab.data.split import split_rows
from losslab.evaluation import doubt_labels, find_suspects
from losslab.losses import LOSSES

DATA = Path("data")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="cwe")
    parser.add_argument("--recipe", default="probe")
    parser.add_argument("--flips", type=int, default=16)
    parser.add_argument("--trials", type=int, default=30)
    options = parser.parse_args()
    documents, truth, labels = read_test_split(options.dataset)
    scores = read_scores(options.dataset, options.recipe)
    print(f"{len(scores)} losses, {truth.shape[0]} documents x {truth.shape[1]} labels")
    rows = []
    for trial in range(options.trials):
        noisy, flipped = flip(truth, options.flips, np.random.default_rng(trial))
        rows += [
            {"method": name, **judge(found, flipped)}
            for name, found in find_all(documents, noisy, scores, labels).items()
        ]
    print(pd.DataFrame(rows).groupby("method", sort=False).mean().round(3).to_string())
    chance = options.flips / truth.size
    print(f"by chance {chance:.3f}")


def newest(pattern: str) -> Path:
    return max(DATA.glob(pattern), key=lambda file: file.parent.name)


def read_test_split(dataset: str) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    splits = pd.read_parquet(newest(f"**/{dataset}/**/splits.parquet/*/splits.parquet"))
    matrix = sparse.load_npz(newest(f"**/{dataset}/**/label_matrix.npz/*/label_matrix.npz"))
    labels = json.loads(newest(f"**/{dataset}/**/label_space.json/*/label_space.json").read_text())
    rows = split_rows(splits, "test")
    return splits.iloc[rows], sparse.csr_array(matrix)[rows].toarray().astype(bool), labels


def read_scores(dataset: str, recipe: str) -> dict[str, np.ndarray]:
    """Test probabilities of the losses that train some: seeds x documents x labels."""
    files = {
        loss: f"**/{dataset}/{recipe}/{loss}_loss/scores.safetensors/*/scores.safetensors"
        for loss in LOSSES
        if LOSSES[loss].decision == "probability"
    }
    return {
        loss: load_file(newest(pattern))["test"]
        for loss, pattern in files.items()
        if any(DATA.glob(pattern))
    }


def flip(
    truth: np.ndarray, count: int, random: np.random.Generator
) -> tuple[np.ndarray, set[tuple[int, int]]]:
    """Wrong labels: half of them were given, half absent, drawn by the frequency of the label."""
    given = random.choice(np.argwhere(truth), count // 2, replace=False)
    weights = (
        np.where(truth, 0, truth.sum(axis=0)).ravel() / np.where(truth, 0, truth.sum(axis=0)).sum()
    )
    absent = random.choice(truth.size, count - len(given), replace=False, p=weights)
    places = {(int(row), int(label)) for row, label in given}
    places |= {divmod(int(place), truth.shape[1]) for place in absent}
    noisy = truth.copy()
    for place in places:
        noisy[place] = not noisy[place]
    return noisy, places


def find_all(
    documents: pd.DataFrame, noisy: np.ndarray, scores: dict[str, np.ndarray], labels: list[str]
) -> dict[str, list[tuple[int, int]]]:
    """The places that each method finds, the most suspicious first."""
    matrix = sparse.csr_array(noisy)
    doubts = {loss: doubt_labels(matrix, each) for loss, each in scores.items()}
    suspects = find_suspects(documents, matrix, doubts, labels=labels)
    rows = {str(name): row for row, name in enumerate(documents["id"])}
    places = [
        (rows[str(name)], labels.index(label))
        for name, label in suspects[["id", "label"]].to_numpy()
    ]
    mean = np.mean([each.mean(axis=0) for each in scores.values()], axis=0)
    found = {"find_suspects": places, "mean probability": ranked(np.abs(noisy - mean))}
    return found | by_cleanlab(noisy, mean)


def ranked(doubt: np.ndarray) -> list[tuple[int, int]]:
    order = np.argsort(-doubt, axis=None, kind="stable")[:100]
    return [divmod(int(place), doubt.shape[1]) for place in order]


def by_cleanlab(noisy: np.ndarray, mean: np.ndarray) -> dict[str, list[tuple[int, int]]]:
    """Confident learning per label (one-vs-rest), ranked by self-confidence."""
    try:
        from cleanlab.multilabel_classification.filter import find_multilabel_issues_per_class
    except ImportError:
        return {}
    given = [np.flatnonzero(row).tolist() for row in noisy]
    issues = find_multilabel_issues_per_class(
        given,
        np.clip(mean, 1e-3, 1 - 1e-3),
        filter_by="confident_learning",
        return_indices_ranked_by="self_confidence",
        n_jobs=1,
    )[0]
    places = [(int(row), label) for label, rows in enumerate(issues) for row in rows]
    places.sort(key=lambda place: -abs(noisy[place] - mean[place]))
    return {"cleanlab": places}


def judge(found: list[tuple[int, int]], flipped: set[tuple[int, int]]) -> dict[str, float]:
    hits = [place in flipped for place in found]
    first = hits[: len(flipped)]
    return {
        "found": len(found),
        "precision": sum(hits) / max(len(hits), 1),
        "recall": sum(hits) / len(flipped),
        "precision_of_first": sum(first) / max(len(first), 1),
    }


if __name__ == "__main__":
    main()
