"""The node that makes features: what the recipe's model reads."""

import json

import numpy as np
import pandas as pd
from recipe_conf import read_recipe
from tiny_encoder import write_encoder
from tokenizers import Tokenizer

from losslab.pipelines.features.nodes import compute_features

SPLITS = pd.DataFrame(
    {"text": ["the lock is open", "a memory", "a lock"], "split": ["train", "train", "test"]}
)


def test_probe_reads_an_embedding_per_document(tmp_path):
    model = {"backbone": write_encoder(tmp_path), "max_length": 16}
    features, tokenizer = compute_features(SPLITS, read_recipe("probe", model))
    assert list(features) == ["embeddings"]
    assert features["embeddings"].shape == (3, 8)
    assert np.allclose(np.linalg.norm(features["embeddings"], axis=1), 1, atol=1e-6)
    assert Tokenizer.from_str(json.dumps(tokenizer)).token_to_id("lock") is not None


def test_vocabulary_is_that_of_training_documents():
    other = SPLITS.assign(text=["the lock is open", "a memory", "unseen words"])
    features, tokenizer = compute_features(other, read_recipe("textcnn", {"min_count": 1}))
    words = set(tokenizer["model"]["vocab"])
    assert {"lock", "memory"} <= words
    assert not {"unseen", "words"} & words
    assert features["offsets"].tolist() == [0, 4, 6, 8]
    assert features["ids"].dtype == np.uint16
