"""The node that makes features: what the recipe's model reads."""

import json

import numpy as np
import pandas as pd
from recipe_conf import CONF, read_recipe
from scipy import sparse
from tiny_encoder import write_encoder
from tokenizers import Tokenizer

from losslab.features.tfidf import learn_vocabulary, weigh_words
from losslab.parameters import frozen_encoder
from losslab.pipelines.features import nodes

TFIDF = {**CONF["tfidf"], "min_df": 1}
SPLITS = pd.DataFrame(
    {
        "id": ["1", "2", "3"],
        "text": ["the lock is open", "a memory", "a lock"],
        "split": ["train", "train", "test"],
    }
)


def compute_features(splits, recipe):
    embeddings = nodes.embed_documents(splits, frozen_encoder(recipe.model))
    return nodes.compute_features(splits, splits, embeddings, recipe)


def test_probe_reads_an_embedding_per_document(tmp_path):
    model = {"backbone": write_encoder(tmp_path), "max_length": 16}
    features, tokenizer = compute_features(SPLITS, read_recipe("probe", model))
    assert list(features) == ["embeddings"]
    assert features["embeddings"].shape == (3, 8)
    assert np.allclose(np.linalg.norm(features["embeddings"], axis=1), 1, atol=1e-6)
    assert Tokenizer.from_str(json.dumps(tokenizer)).token_to_id("lock") is not None


def test_hybrid_reads_the_probes_embedding_and_tf_idf_of_the_training_vocabulary(tmp_path):
    model = {"backbone": write_encoder(tmp_path), "max_length": 16}
    recipe = read_recipe("hybrid", {**model, "tfidf": TFIDF})
    features, tokenizer = compute_features(SPLITS, recipe)
    frozen, _ = compute_features(SPLITS, read_recipe("probe", model))
    assert np.array_equal(features["embeddings"], frozen["embeddings"])
    vocabulary = learn_vocabulary(list(SPLITS["text"][:2]), recipe.model.tfidf)
    assert vocabulary["words"] == ["lock", "memory", "open"]  # "is" and "the" are stop words
    expected = weigh_words(list(SPLITS["text"]), vocabulary)
    assert expected.nnz == 4
    parts = [features[f"word_{name}"] for name in ("weights", "ids", "offsets")]
    words = sparse.csr_array(tuple(parts), shape=(3, int(features["num_words"][0])))
    assert np.array_equal(words.toarray(), expected.toarray())
    assert json.loads(json.dumps(tokenizer))["vocabulary"] == vocabulary


def test_splits_take_their_rows_of_the_embeddings_of_all_documents(tmp_path):
    recipe = read_recipe("probe", {"backbone": write_encoder(tmp_path), "max_length": 16})
    documents = pd.DataFrame({"id": ["0", "3", "1", "2"], "text": ["x y", "a lock", "b", "c"]})
    embeddings = {"embeddings": np.arange(8, dtype=np.float32).reshape(4, 2)}
    features, _ = nodes.compute_features(SPLITS, documents, embeddings, recipe)
    assert features["embeddings"].tolist() == [[4, 5], [6, 7], [2, 3]]


def test_documents_are_embedded_for_models_that_read_embeddings_alone(tmp_path):
    model = {"backbone": write_encoder(tmp_path), "max_length": 16}
    encoders = [frozen_encoder(read_recipe(name, model).model) for name in ("probe", "hybrid")]
    assert encoders[0] == encoders[1]  # they share the file
    fine_tuned = frozen_encoder(read_recipe("minilm", model).model)
    assert nodes.embed_documents(SPLITS, fine_tuned) == {}


def test_vocabulary_is_that_of_training_documents():
    other = SPLITS.assign(text=["the lock is open", "a memory", "unseen words"])
    features, tokenizer = compute_features(other, read_recipe("textcnn", {"min_count": 1}))
    words = set(tokenizer["model"]["vocab"])
    assert {"lock", "memory"} <= words
    assert not {"unseen", "words"} & words
    assert features["offsets"].tolist() == [0, 4, 6, 8]
    assert features["ids"].dtype == np.uint16
