"""Time and peak memory of keyword soft labels (KWLS), and the speed-up of the split product.

A simulated PubMed (225,000 documents of 200 words, a vocabulary of 150,000, 18,211 labels, 12 a
document, words and labels by Zipf's law and independent of each other, which fills words x labels
more than any real text does), its soft labels streamed in blocks and thrown away; then IMDb's 25,000
training reviews, if ``LOSSLAB_MIRROR`` holds them:

    python benchmarks/soft_labels.py             # --share 0.1 for a tenth of the documents
"""

import os
import resource
import tarfile
from argparse import ArgumentParser
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from scipy import sparse

from losslab.supervision import (
    SoftLabels,
    count_words,
    from_relevance,
    keyword_soft_labels,
    mean_length,
    word_document_relevance,
    word_label_relevance,
)

DOCUMENTS, LENGTH, WORDS, LABELS, CARRIED = 225_000, 200, 150_000, 18_211, 12
CONSTANTS = {"k1": 2.0, "b": 0.75}
WORKERS, BLOCK, SAMPLE = 2, 256, 512


def draw(random: np.random.Generator, rows: int, each: int, columns: int) -> sparse.csr_array:
    """``each`` draws a row by Zipf's law."""
    shares = np.cumsum(1 / np.arange(1, columns + 1))
    drawn = np.searchsorted(shares, random.random(rows * each) * shares[-1]).astype(np.int32)
    starts = np.arange(0, rows * each + 1, each)
    ones = np.ones(rows * each, dtype=np.int32)
    matrix = sparse.csr_array((ones, drawn, starts), shape=(rows, columns))
    matrix.sum_duplicates()
    return matrix


def simulate(documents: int) -> tuple[sparse.csr_array, sparse.csr_array]:
    random = np.random.default_rng(0)
    counts = draw(random, documents, LENGTH, WORDS)
    targets = draw(random, documents, CARRIED, LABELS)
    # every label is carried by one document at least
    each = sparse.csr_array(sparse.eye_array(documents, LABELS, dtype=np.int32))
    return counts, sparse.csr_array((targets + each > 0).astype(np.int8))


def gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def measure_pubmed(share: float) -> None:
    counts, targets = simulate(max(round(DOCUMENTS * share), LABELS))
    print(
        f"simulated: {counts.shape[0]:,} documents, {counts.nnz / counts.shape[0]:.0f} words each"
    )
    start, work = perf_counter(), process_time()
    words = word_label_relevance(counts, targets, **CONSTANTS, dtype=np.float32)
    documents = word_document_relevance(counts, k2=2.0, dtype=np.float32)
    soft = from_relevance(documents, words, mean_length(counts))
    print(
        f"relevance: {perf_counter() - start:.0f} s, {words.nnz / 1e6:.0f} million words x labels"
    )
    total = 0.0
    for block in soft.blocks(BLOCK, workers=WORKERS):
        total += float(block.sum())
    assert abs(total / len(soft) - 1) < 1e-3  # noqa: S101
    seconds, peak = perf_counter() - start, gigabytes()
    print(f"all soft labels: {seconds:.0f} s, peak {peak:.1f} GB (limits: 900 s, 6 GB)")
    print(f"processor time of {WORKERS} threads: {process_time() - work:.0f} s")
    compare_products(soft)


def compare_products(soft: SoftLabels) -> None:
    """The split product beside one sparse product, one thread, the same documents."""
    rows = np.random.default_rng(1).choice(len(soft), SAMPLE, replace=False)
    start = perf_counter()
    ours = soft.relevance(rows)
    split = perf_counter() - start
    start = perf_counter()
    plain = (soft.documents[rows] @ soft.words).toarray()
    whole = perf_counter() - start
    assert np.allclose(ours, plain, rtol=1e-4)  # noqa: S101
    print(
        f"{SAMPLE} documents: split {split:.2f} s, sparse {whole:.2f} s, ratio {whole / split:.1f}"
    )


def read_imdb(archive: Path) -> tuple[list[str], np.ndarray]:
    """Training reviews and their polarity."""
    texts, labels = [], []
    with tarfile.open(archive) as files:
        for member in files:
            parts = Path(member.name).parts
            if member.isfile() and "train" in parts and parts[-2] in ("neg", "pos"):
                texts.append(files.extractfile(member).read().decode("utf-8"))  # type: ignore[union-attr]
                labels.append(parts[-2] == "pos")
    return texts, np.array(labels, dtype=int)


def measure_imdb(archive: Path) -> None:
    texts, labels = read_imdb(archive)
    start = perf_counter()
    counts, _ = count_words(texts)
    targets = sparse.csr_array(np.eye(2, dtype=np.int8)[labels])
    soft = keyword_soft_labels(counts, targets, **CONSTANTS, k2=2.0)
    seconds = perf_counter() - start
    right = float(np.mean(np.argmax(soft, axis=1) == labels))
    print(f"IMDb: {len(texts):,} reviews, {counts.shape[1]:,} words: {seconds:.1f} s (limit: 60 s)")
    print(f"the larger soft label is the hard one for {right:.1%}")


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the simulated documents")
    share = parser.parse_args().share
    imdb = Path(os.environ.get("LOSSLAB_MIRROR", ".")) / "imdb.tar.xz"
    measure_pubmed(share)
    if imdb.is_file():
        measure_imdb(imdb)


if __name__ == "__main__":
    main()
