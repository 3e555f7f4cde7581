"""What a trained baseline teaches, in the pipelines' own nodes."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT
from losslab.pipelines.losses.nodes import train
from losslab.pipelines.targets.baseline_nodes import (
    distil_labels,
    group_by_elements,
    score_training_documents,
    search_element_keywords,
)
from losslab.pipelines.targets.keyword_nodes import count_training_words
from scipy import sparse
from scipy.special import expit
from scipy.special import softmax as scipy_softmax

from losslab.data import encode_labels
from losslab.features.compute import compute_features, learn_tokenizer
from losslab.parameters import ElementKeywordSettings, KeywordSettings, ThresholdGrid, loss_options
from losslab.parameters.training import Recipes
from losslab.supervision import describe_labels, frequency_groups

CONF = yaml.safe_load((ROOT / "conf/base/parameters_losses.yml").read_text())
ALL = yaml.safe_load((ROOT / "conf/base/parameters_targets.yml").read_text())
KEYWORDS = KeywordSettings(**ALL["keywords"])
LABELS = ["fruit", "metal"]
RECIPE = "textcnn"  # reads words themselves: one word decides, and no encoder has to be loaded


@pytest.fixture(scope="module")
def baseline():
    """A network that learns that apples are fruit and iron is metal, and what it was made from."""
    things = {"apple": ["fruit"], "iron": ["metal"], "cloud": []}
    around = ["the {} here", "a {} there", "one more {} today", "some {} again"]
    rows = [
        (form.format(thing), labels) for form in around * 12 for thing, labels in things.items()
    ]
    texts, carried = [text for text, _ in rows], [labels for _, labels in rows]
    split = np.array((["train"] * 3 + ["validation"]) * (len(texts) // 4))
    documents = pd.DataFrame({"id": np.arange(len(texts)).astype(str), "text": texts})
    documents = documents.assign(split=split)
    targets = encode_labels(carried, LABELS)
    chosen = CONF["recipes"][RECIPE]
    budget = {**chosen["training"], "epochs": 30, "learning_rate": 0.01, "batch_size": 16}
    changed = {**chosen, "least_count": 1, "width": 8, "filters": 8, "training": budget}
    recipes = Recipes(**{**CONF["recipes"], RECIPE: changed})
    tokenizer = learn_tokenizer(recipes.textcnn, texts)
    statistics = describe_labels(targets[split == "train"])
    statistics["groups"] = frequency_groups(statistics["frequencies"])
    shared = {
        "features": compute_features(recipes.textcnn, texts, tokenizer),
        "documents": documents,
        "label_statistics": statistics,
        "options": loss_options("bce")(),
        "recipe": RECIPE,
        "recipes": recipes,
        "task": "multi",
    }
    model, _ = train(
        "bce",
        **shared,
        targets=targets,
        label_space=LABELS,
        failures=Path("nowhere"),
        threshold=ThresholdGrid(**CONF["threshold"]),
        seed=3,
        seeds=1,
    )
    logits = score_training_documents("bce", model, **shared)
    return model, shared, targets, tokenizer, logits


def test_teacher_speaks_of_training_documents_only(baseline):
    _, shared, _, _, logits = baseline
    train_rows = np.flatnonzero(shared["documents"]["split"] == "train")
    assert logits["rows"].tolist() == train_rows.tolist()
    assert logits["logits"].shape == (len(train_rows), 2)


def test_distilled_labels_are_the_softmax_of_the_teachers_logits(baseline):
    logits = baseline[-1]
    soft = distil_labels(logits)
    expected = scipy_softmax(logits["logits"][:3], axis=1)
    assert np.allclose(soft(logits["rows"][:3]), expected, atol=1e-6)


def test_words_the_baseline_depends_on_are_found_and_mask_training_documents(baseline):
    model, shared, targets, tokenizer, logits = baseline
    assert ((expit(logits["logits"]) > 0.5) == targets[logits["rows"]].toarray()).all()
    counts, vocabulary = count_training_words(shared["documents"], KEYWORDS)
    words, account = search_element_keywords(
        "bce",
        model,
        logits,
        tokenizer=json.loads(tokenizer.to_str()),
        targets=targets,
        vocabulary=vocabulary,
        keywords=KEYWORDS,
        elements=ElementKeywordSettings(**{**ALL["element_keywords"], "documents": 40}),
        **shared,
    )
    found = {vocabulary[word]: LABELS[label] for word, label in zip(*words.nonzero(), strict=True)}
    assert found == {"apple": "fruit", "iron": "metal"}
    assert account["documents_searched"] == account["document_cap"] == 40
    mask = group_by_elements(counts, words, shared["documents"])
    assert mask.shape == targets.shape
    held_out = (shared["documents"]["split"] == "validation").to_numpy()
    assert mask[held_out].nnz == 0
    assert np.array_equal(mask[~held_out].toarray(), targets[~held_out].toarray())


def test_mask_has_the_rows_of_the_corpus():
    documents = pd.DataFrame({"split": ["test", "train", "validation", "train"]})
    counts = sparse.csr_array([[1, 0], [0, 2]])
    words = sparse.csr_array([[0, 1, 1], [0, 0, 0]])
    mask = group_by_elements(counts, words, documents)
    assert mask.toarray().tolist() == [[0, 0, 0], [0, 1, 1], [0, 0, 0], [0, 0, 0]]
