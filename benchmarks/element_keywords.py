"""Element keywords: throughput of length-sorted batches against one text at a time.

Takes TREC's training questions (``LOSSLAB_MIRROR``), a probe trained with ``bce`` on their frozen
embeddings, and scores each question with each of its words deleted:

    python benchmarks/element_keywords.py             # --alone: how many texts to time one by one
"""

import os
import tarfile
from argparse import ArgumentParser
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from scipy import sparse

from losslab.data import encode_labels, label_space
from losslab.features.compute import embed_texts
from losslab.features.encoder import encoder_tokenizer
from losslab.features.tokens import tokenize
from losslab.losses import build_loss
from losslab.models.probe import Probe
from losslab.parameters import EncoderSettings
from losslab.supervision import count_words, find_element_keywords

ENCODER = EncoderSettings(
    backbone="minilm", pooling="mean", max_length=64, truncation="head", dropout=0.1
)
TOKENIZER = encoder_tokenizer(ENCODER.backbone, ENCODER.max_length)
MIN_PROBABILITY_DROP = 0.5


def embed(texts: list[str], batch_size: int = 32) -> np.ndarray:
    return embed_texts(tokenize(texts, TOKENIZER, ENCODER), ENCODER, batch_size=batch_size)


def read_questions(archive: Path) -> tuple[list[str], list[str]]:
    with tarfile.open(archive) as files:
        raw = files.extractfile("trec/train_5500.label").read().decode("latin-1")  # type: ignore[union-attr]
    pairs = [line.split(" ", 1) for line in raw.splitlines()]
    return [text for _, text in pairs], [label for label, _ in pairs]


def train_probe(embeddings: np.ndarray, targets: sparse.csr_array, epochs: int = 60) -> Probe:
    torch.manual_seed(1)
    features, truth = torch.from_numpy(embeddings), torch.from_numpy(targets.toarray()).float()
    model = Probe(
        embedding_dim=features.shape[1], num_labels=truth.shape[1], hidden_dim=256, dropout=0.1
    )
    optimizer, loss = torch.optim.AdamW(model.parameters(), lr=1e-3), build_loss("bce")
    for _ in range(epochs):
        for rows in torch.randperm(len(features)).split(32):
            optimizer.zero_grad()
            loss(model(features=features[rows]), truth[rows]).backward()
            optimizer.step()
    return model.eval()


def probabilities(model: Probe, embeddings: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        return model(features=torch.from_numpy(embeddings)).sigmoid().numpy()


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--alone", type=int, default=2000, help="texts to score one at a time")
    parser.add_argument(
        "--documents", type=int, default=None, help="documents to search; default: all"
    )
    options = parser.parse_args()
    texts, labels = read_questions(Path(os.environ["LOSSLAB_MIRROR"]) / "trec.tar.xz")
    targets = encode_labels([[label] for label in labels], label_space([[x] for x in labels]))
    embeddings = embed(texts)
    model = train_probe(embeddings, targets)
    shortened: list[str] = []

    def score_texts(batch: list[str]) -> np.ndarray:
        shortened.extend(batch)
        return probabilities(model, embed(batch))

    _, vocabulary = count_words(texts)
    before = probabilities(model, embeddings)
    start = perf_counter()
    keywords = find_element_keywords(
        texts,
        targets,
        before,
        score_texts,
        vocabulary,
        min_probability_drop=MIN_PROBABILITY_DROP,
        max_documents=options.documents,
    )
    batched = len(shortened) / (perf_counter() - start)
    rows = np.random.default_rng(0).choice(len(shortened), options.alone, replace=False)
    alone = time_one_by_one(model, [shortened[row] for row in rows])
    print(keywords.record)
    print(f"batched {batched:.0f} texts/s, one at a time {alone:.0f} texts/s")
    print(f"ratio {batched / alone:.1f} (target: 3)")


def time_one_by_one(model: Probe, texts: list[str]) -> float:
    """Texts per second in batches of one; the encoder is loaded once."""
    start = perf_counter()
    probabilities(model, embed(texts, batch_size=1))
    return len(texts) / (perf_counter() - start)


if __name__ == "__main__":
    main()
