"""Time and peak memory of retrieval at the size of SQuAD: exact search, soft targets of a batch.

100,000 simulated candidates x 1,000 questions with embeddings of 384 dimensions; word relevance of
sentences of 25 words and questions of 10, drawn by Zipf's law from 50,000:

    python benchmarks/retrieval.py      # --candidates 1000000 for a million

Limits: recall in 60 s and 2 GB on two cores; soft targets of 64 questions over a batch's 128
candidates in 50 ms, and over all 100,000, which no training asks for, in the same time.
"""

import resource
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy import sparse

from losslab.retrieval import FactoredTargets, keyword_factors, positive_ranks, rank_metrics
from losslab.supervision import SoftLabels

CANDIDATES, QUESTIONS, DIM, BATCH, SAMPLED = 100_000, 1_000, 384, 64, 64
SENTENCE, QUESTION, WORDS = 25, 10, 50_000
MAX_SECONDS, MAX_GIGABYTES, MAX_MILLISECONDS = 60.0, 2.0, 50.0
REPEATS = 15


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=CANDIDATES)
    candidates = parser.parse_args().candidates
    seconds = measure_search(candidates)
    in_batch, over_all = measure_soft_targets(candidates)
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"peak memory of all: {gigabytes:.2f} GB")
    at_scale = candidates == CANDIDATES
    slow = seconds > MAX_SECONDS or gigabytes > MAX_GIGABYTES or in_batch > MAX_MILLISECONDS
    if at_scale and slow:
        sys.exit("more than the limits allow")
    if at_scale and over_all > MAX_MILLISECONDS:
        print(f"over all candidates: more than {MAX_MILLISECONDS:.0f} ms")


def measure_search(number: int) -> float:
    """Recall of questions that are their positive with noise, all candidates searched."""
    random = np.random.default_rng(0)
    candidates = random.standard_normal((number, DIM), dtype=np.float32)
    positives = random.integers(number, size=QUESTIONS)
    noise = random.standard_normal((QUESTIONS, DIM), dtype=np.float32)
    start = perf_counter()
    ranks = positive_ranks(candidates[positives] + 4 * noise, candidates, positives)
    seconds = perf_counter() - start
    recall = rank_metrics(ranks, [1, 100])["recall_at_100"]
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"search: {QUESTIONS:,} questions x {number:,} candidates: {seconds:.1f} s,")
    print(f"    {gigabytes:.2f} GB at the peak, Recall@100 {recall:.2f}")
    return seconds


def measure_soft_targets(number: int) -> tuple[float, float]:
    """Milliseconds of a batch's soft targets: over its candidates, and over all."""
    random = np.random.default_rng(0)
    questions, candidates = draw(random, number, QUESTION), draw(random, number, SENTENCE)
    positives = random.permutation(number)
    start = perf_counter()
    factors = keyword_factors(questions, candidates, positives, k1=2.0, b=0.75, k2=2.0)
    print(f"factors: {perf_counter() - start:.1f} s, {factors[1].nnz / 1e6:.1f} million entries")
    rows = random.choice(number, BATCH, replace=False)
    batch = np.union1d(positives[rows], random.choice(number, SAMPLED, replace=False))
    soft = FactoredTargets(*factors)
    in_batch = milliseconds(lambda: soft(rows, batch))
    print(f"soft targets of {BATCH} questions over {len(batch)} candidates: {in_batch:.1f} ms")
    every = SoftLabels(factors[0], sparse.csr_array(factors[1].T))
    every(rows)  # splits its factors once
    over_all = milliseconds(lambda: every(rows))
    print(f"    over all {number:,} candidates: {over_all:.1f} ms")
    return in_batch, over_all


def milliseconds(call: Callable[[], object]) -> float:
    """The best of several calls."""
    best = float("inf")
    for _ in range(REPEATS):
        start = perf_counter()
        call()
        best = min(best, perf_counter() - start)
    return 1000 * best


def draw(random: np.random.Generator, rows: int, each: int) -> sparse.csr_array:
    """Word counts of texts of ``each`` words, drawn by Zipf's law."""
    shares = np.cumsum(1 / np.arange(1, WORDS + 1))
    drawn = np.searchsorted(shares, random.random(rows * each) * shares[-1]).astype(np.int32)
    ones = np.ones(rows * each, dtype=np.int32)
    starts = np.arange(0, rows * each + 1, each)
    matrix = sparse.csr_array((ones, drawn, starts), shape=(rows, WORDS))
    matrix.sum_duplicates()
    return matrix


if __name__ == "__main__":
    main()
