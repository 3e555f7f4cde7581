"""What a trained baseline teaches: nodes of distillation."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT
from recipe_conf import read_recipe
from scipy import sparse
from scipy.special import expit
from scipy.special import softmax as scipy_softmax

from losslab.data import encode_labels
from losslab.errors import NonFiniteScoresError
from losslab.features.compute import compute_features, learn_tokenizer
from losslab.parameters import ElementKeywordSettings, KeywordSettings
from losslab.pipelines.distillation import nodes
from losslab.pipelines.supervision.nodes import count_training_words
from losslab.pipelines.training.nodes import train
from losslab.supervision import describe_labels, frequency_groups

from .small_data import GRID, loss_settings

CONF = ROOT / "conf/base"
KEYWORDS = KeywordSettings(
    **yaml.safe_load((CONF / "parameters_supervision.yml").read_text())["keywords"]
)
ELEMENTS = yaml.safe_load((CONF / "parameters_distillation.yml").read_text())["element_keywords"]
LABELS = ["fruit", "metal"]


@pytest.fixture(scope="module")
def baseline():
    """A network that learns that apples are fruit and iron is metal, and what it was made from.

    TextCNN reads words themselves: one word decides, and no encoder has to be loaded.
    """
    things = {"apple": ["fruit"], "iron": ["metal"], "cloud": []}
    around = ["the {} here", "a {} there", "one more {} today", "some {} again"]
    rows = [
        (form.format(thing), labels) for form in around * 12 for thing, labels in things.items()
    ]
    texts, carried = [text for text, _ in rows], [labels for _, labels in rows]
    split = np.array((["train"] * 3 + ["validation"]) * (len(texts) // 4))
    splits = pd.DataFrame({"id": np.arange(len(texts)).astype(str), "text": texts})
    splits = splits.assign(split=split)
    label_matrix = encode_labels(carried, LABELS)
    model = {"min_count": 1, "embedding_dim": 8, "filters": 8}
    recipe = read_recipe("textcnn", model, epochs=30, learning_rate=0.01, batch_size=16, threads=1)
    tokenizer = learn_tokenizer(recipe.model, texts)
    statistics = describe_labels(label_matrix[split == "train"])
    statistics["groups"] = frequency_groups(statistics["frequencies"])
    shared = {
        "loss": loss_settings("bce"),
        "recipe": recipe,
        "features": compute_features(recipe.model, texts, tokenizer),
        "splits": splits,
        "label_statistics": statistics,
        "task": "multi",
    }
    trained, _ = train(
        **shared,
        label_matrix=label_matrix,
        label_space=LABELS,
        grid=GRID,
        select_by="macro_f1",
        validation_rule="tuned",
        seed=3,
        num_seeds=1,
        failures=Path("nowhere"),
    )
    logits = nodes.score_training_documents(**shared, model=trained)
    return SimpleNamespace(
        model=trained,
        shared=shared,
        splits=splits,
        label_matrix=label_matrix,
        tokenizer=json.loads(tokenizer.to_str()),
        logits=logits,
    )


def test_damaged_teacher_teaches_nothing(baseline):
    damaged = {name: np.full_like(weights, np.nan) for name, weights in baseline.model.items()}
    with pytest.raises(
        NonFiniteScoresError, match=r"seed \d+: .* of the train split are not finite"
    ):
        nodes.score_training_documents(**baseline.shared, model=damaged)


def test_teacher_speaks_of_training_documents_only(baseline):
    train_rows = np.flatnonzero(baseline.splits["split"] == "train")
    assert baseline.logits["rows"].tolist() == train_rows.tolist()
    assert baseline.logits["logits"].shape == (len(train_rows), 2)


def test_distilled_labels_are_the_softmax_of_the_teachers_logits(baseline):
    soft = nodes.distil_labels(baseline.logits)
    expected = scipy_softmax(baseline.logits["logits"][:3], axis=1)
    assert np.allclose(soft(baseline.logits["rows"][:3]), expected, atol=1e-6)


def test_words_the_baseline_depends_on_are_found_and_mask_training_documents(baseline):
    logits, label_matrix, splits = baseline.logits, baseline.label_matrix, baseline.splits
    predicted = expit(logits["logits"]) > 0.5
    assert (predicted == label_matrix[logits["rows"]].toarray()).all()
    counts, vocabulary = count_training_words(splits, KEYWORDS)
    words, record = nodes.search_element_keywords(
        **baseline.shared,
        model=baseline.model,
        training_logits=logits,
        tokenizer=baseline.tokenizer,
        label_matrix=label_matrix,
        vocabulary=vocabulary,
        keywords=KEYWORDS,
        elements=ElementKeywordSettings(**{**ELEMENTS, "max_documents": 40}),
    )
    found = {vocabulary[word]: LABELS[label] for word, label in zip(*words.nonzero(), strict=True)}
    assert found == {"apple": "fruit", "iron": "metal"}
    assert record["documents_searched"] == record["max_documents"] == 40
    table = nodes.list_element_keywords(words, counts, vocabulary, LABELS)
    assert set(table["word"]) == {"apple", "iron"}
    mask = nodes.group_by_elements(counts, words, splits)
    assert mask.shape == label_matrix.shape
    held_out = (splits["split"] == "validation").to_numpy()
    assert mask[held_out].nnz == 0
    assert np.array_equal(mask[~held_out].toarray(), label_matrix[~held_out].toarray())


def test_mask_has_the_rows_of_the_corpus():
    splits = pd.DataFrame({"split": ["test", "train", "validation", "train"]})
    counts = sparse.csr_array([[1, 0], [0, 2]])
    words = sparse.csr_array([[0, 1, 1], [0, 0, 0]])
    mask = nodes.group_by_elements(counts, words, splits)
    assert mask.toarray().tolist() == [[0, 0, 0], [0, 1, 1], [0, 0, 0], [0, 0, 0]]
