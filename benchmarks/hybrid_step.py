"""CPU time of an optimizer step of the hybrid, by words, hidden units and batch size.

Documents have 60 different words of a Zipf-like vocabulary, 90 labels; loss, clipping and AdamW as in a
training: ``python benchmarks/hybrid_step.py``. CPU time, since a shared machine's wall time says little.
"""

from itertools import product
from time import process_time

import numpy as np
import torch

from losslab.features.inputs import inputs_of
from losslab.losses import build_loss
from losslab.models.hybrid import Hybrid

DOCUMENTS, WORDS_EACH, DIM, LABELS, STEPS = 1024, 60, 384, 90, 10
WORDS, HIDDEN, BATCHES = (5_000, 10_000, 50_000), (64, 128, 256), (64, 256)


def make_features(words: int) -> dict[str, np.ndarray]:
    """Random embeddings, and words drawn without replacement, frequent ones more often."""
    random = np.random.default_rng(0)
    odds = 1 / np.arange(10, words + 10)
    draw = (random.choice(words, WORDS_EACH, False, odds / odds.sum()) for _ in range(DOCUMENTS))
    ids = np.concatenate([np.sort(each) for each in draw])
    return {
        "embeddings": random.normal(size=(DOCUMENTS, DIM)).astype(np.float32),
        "word_ids": ids.astype(np.int32),
        "word_weights": random.random(len(ids), dtype=np.float32),
        "word_offsets": np.arange(0, len(ids) + 1, WORDS_EACH),
        "num_words": np.array([words]),
    }


def seconds_per_step(features: dict[str, np.ndarray], hidden_dim: int, batch: int) -> float:
    """Mean CPU seconds, after two steps to warm up."""
    inputs, words = inputs_of(features, np.arange(DOCUMENTS)), int(features["num_words"][0])
    sizes = {"embedding_dim": DIM, "num_words": words, "num_labels": LABELS}
    model = Hybrid(**sizes, hidden_dim=hidden_dim, dropout=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    loss, targets = build_loss("bce"), (torch.rand(batch, LABELS) < 0.02).float()
    start = 0.0
    for step in range(STEPS + 2):
        start = process_time() if step == 2 else start
        rows = np.arange(step * batch, (step + 1) * batch) % DOCUMENTS
        torch.autograd.backward(loss(model(**inputs.batch(rows)), targets))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return (process_time() - start) / STEPS


def main() -> None:
    torch.set_num_threads(1)
    print("| words | hidden units | batch | ms a step | ms a document |\n|---|---|---|---|---|")
    for words in WORDS:
        features = make_features(words)
        for hidden_dim, batch in product(HIDDEN, BATCHES):
            value = 1000 * seconds_per_step(features, hidden_dim, batch)
            print(f"| {words:,} | {hidden_dim} | {batch} | {value:.1f} | {value / batch:.3f} |")


if __name__ == "__main__":
    main()
