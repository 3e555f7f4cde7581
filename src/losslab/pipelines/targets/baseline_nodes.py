"""What a trained baseline (``bce``) teaches: soft labels, and words that labels depend on.

The baseline of the first seed teaches every seed: a teacher made of several would make results
depend on how many seeds a run has.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.parameters import ElementKeywordSettings, KeywordSettings, LossOptions
from losslab.parameters.training import Recipes
from losslab.pipelines.losses.nodes import Arrays, describe_job, seeds_of, weights_of
from losslab.pipelines.targets.keyword_nodes import READING, training_rows
from losslab.supervision import (
    SoftLabels,
    element_groups,
    find_element_keywords,
    tabulate_element_keywords,
)

if TYPE_CHECKING:
    from losslab.training.network import ModelWithLoss


def score_training_documents(
    loss: str,
    model: Arrays,
    features: Arrays,
    documents: pd.DataFrame,
    label_statistics: dict[str, Any],
    options: LossOptions,
    recipe: str,
    recipes: Recipes,
    task: str,
) -> Arrays:
    """Logits of the baseline for the training documents, and their rows."""
    from losslab.features.inputs import inputs_of
    from losslab.training.network import predict_logits

    network = _baseline(loss, model, features, label_statistics, options, recipe, recipes, task)
    rows = training_rows(documents)
    return {"rows": rows, "logits": predict_logits(network, inputs_of(features, rows))}


def distil_labels(training_logits: Arrays) -> SoftLabels:
    """Soft labels of ``ls_distill``: softmax of the baseline's logits."""
    logits = training_logits["logits"].astype(np.float32)
    return SoftLabels(logits, rows=training_logits["rows"])


def search_element_keywords(
    loss: str,
    model: Arrays,
    training_logits: Arrays,
    features: Arrays,
    tokenizer: dict[str, Any],
    documents: pd.DataFrame,
    targets: sparse.csr_array,
    vocabulary: list[str],
    label_statistics: dict[str, Any],
    options: LossOptions,
    recipe: str,
    recipes: Recipes,
    task: str,
    keywords: KeywordSettings,
    elements: ElementKeywordSettings,
) -> tuple[sparse.csr_array, dict[str, Any]]:
    """Words x labels: which labels depend on which words; and an account of the search."""
    from losslab.training.texts import text_scorer

    network = _baseline(loss, model, features, label_statistics, options, recipe, recipes, task)
    rows = training_logits["rows"]
    found = find_element_keywords(
        documents["text"].iloc[rows].tolist(),
        targets[rows],
        1 / (1 + np.exp(-training_logits["logits"])),
        text_scorer(network, getattr(recipes, recipe), tokenizer),
        vocabulary,
        **elements.model_dump(),
        reading=keywords.model_dump(include=READING),
    )
    return found.words, found.account


def group_by_elements(
    word_counts: sparse.csr_array, element_keywords: sparse.csr_array, documents: pd.DataFrame
) -> sparse.csr_array:
    """Documents x labels: labels that a training document's words speak for; other rows are empty."""
    groups = element_groups(word_counts, element_keywords)
    rows = sparse.csr_array(
        (np.ones(groups.shape[0], np.int8), (training_rows(documents), np.arange(groups.shape[0]))),
        shape=(len(documents), groups.shape[0]),
    )
    return sparse.csr_array(rows @ groups)


def list_element_keywords(
    element_keywords: sparse.csr_array,
    word_counts: sparse.csr_array,
    vocabulary: list[str],
    label_space: list[str],
) -> pd.DataFrame:
    """The words that labels depend on, with their labels."""
    return tabulate_element_keywords(element_keywords, word_counts, vocabulary, label_space)


def _baseline(
    loss: str,
    model: Arrays,
    features: Arrays,
    label_statistics: dict[str, Any],
    options: LossOptions,
    recipe: str,
    recipes: Recipes,
    task: str,
) -> "ModelWithLoss":
    from losslab.training.job import build_network
    from losslab.training.network import load_weights

    job = describe_job(loss, options, recipe, recipes, label_statistics, task)
    return load_weights(build_network(job, features), weights_of(model, seeds_of(model)[0]))
