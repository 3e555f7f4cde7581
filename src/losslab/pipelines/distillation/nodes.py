"""What a trained baseline teaches: soft labels, and the words that its predictions depend on.

The baseline of the first seed teaches every seed: a teacher made of several would make results
depend on how many seeds a run has.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data.split import split_rows
from losslab.parameters import ElementKeywordSettings, KeywordSettings, LossSettings, Recipe
from losslab.supervision import (
    SoftLabels,
    element_groups,
    find_element_keywords,
    tabulate_element_keywords,
)

if TYPE_CHECKING:
    from losslab.training.network import ModelWithLoss

Arrays = dict[str, np.ndarray]


def score_training_documents(
    loss: LossSettings,
    recipe: Recipe,
    model: Arrays,
    features: Arrays,
    splits: pd.DataFrame,
    label_statistics: dict[str, Any],
    task: str,
) -> Arrays:
    """The baseline's logits of the training documents, and their rows."""
    from losslab.features.inputs import inputs_of
    from losslab.training.job import seeds_of
    from losslab.training.network import predict_logits
    from losslab.training.non_finite import require_finite

    network = _teacher(loss, recipe, model, features, label_statistics, task)
    rows = split_rows(splits, "train")
    logits = predict_logits(network, inputs_of(features, rows))
    seed = seeds_of(model)[0]
    return {"rows": rows, "logits": require_finite(logits, loss.name, seed, "train")}


def distil_labels(training_logits: Arrays) -> SoftLabels:
    """Soft labels of ``ls_distill``: the softmax of the baseline's logits."""
    logits = training_logits["logits"].astype(np.float32)
    return SoftLabels(logits, rows=training_logits["rows"])


def search_element_keywords(
    loss: LossSettings,
    recipe: Recipe,
    model: Arrays,
    training_logits: Arrays,
    features: Arrays,
    tokenizer: dict[str, Any],
    splits: pd.DataFrame,
    label_matrix: sparse.csr_array,
    vocabulary: list[str],
    label_statistics: dict[str, Any],
    task: str,
    keywords: KeywordSettings,
    elements: ElementKeywordSettings,
) -> tuple[sparse.csr_array, dict[str, Any]]:
    """Words x labels: the words whose deletion lowers a label's probability; and a search log."""
    from losslab.training.network import text_scorer

    network = _teacher(loss, recipe, model, features, label_statistics, task)
    rows = training_logits["rows"]
    found = find_element_keywords(
        splits["text"].iloc[rows].tolist(),
        label_matrix[rows],
        1 / (1 + np.exp(-training_logits["logits"])),
        text_scorer(network, recipe.model, tokenizer),
        vocabulary,
        **elements.model_dump(),
        tokenization=keywords.tokenization,
    )
    return found.words, found.record


def group_by_elements(
    word_counts: sparse.csr_array, element_keywords: sparse.csr_array, splits: pd.DataFrame
) -> sparse.csr_array:
    """The mask of ``mask_element``, documents x labels: labels that a training document's words
    are keywords of; rows of other documents are empty."""
    groups = element_groups(word_counts, element_keywords)
    train = split_rows(splits, "train")
    rows = sparse.csr_array(
        (np.ones(groups.shape[0], np.int8), (train, np.arange(groups.shape[0]))),
        shape=(len(splits), groups.shape[0]),
    )
    return sparse.csr_array(rows @ groups)


def list_element_keywords(
    element_keywords: sparse.csr_array,
    word_counts: sparse.csr_array,
    vocabulary: list[str],
    label_space: list[str],
) -> pd.DataFrame:
    """The element keywords with their labels."""
    return tabulate_element_keywords(element_keywords, word_counts, vocabulary, label_space)


def _teacher(
    loss: LossSettings,
    recipe: Recipe,
    model: Arrays,
    features: Arrays,
    label_statistics: dict[str, Any],
    task: str,
) -> "ModelWithLoss":
    from losslab.training.job import describe_job, load_network, seeds_of

    job = describe_job(loss, recipe, label_statistics, task)
    return load_network(job, model, seeds_of(model)[0], features)
