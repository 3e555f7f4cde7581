"""The node of a search: what an ordinary training is given, and no test data."""

import numpy as np
from recipe_conf import read_recipe
from scipy import sparse

from losslab.parameters import SearchSettings
from losslab.pipelines.search.nodes import search
from losslab.supervision import describe_labels, frequency_groups

from .small_data import GRID, SPLIT, loss_settings, make_data, make_splits


def trials(folder, targets, features):
    statistics = describe_labels(sparse.csr_array(targets[SPLIT == "train"]))
    statistics["groups"] = frequency_groups(statistics["frequencies"])
    found = search(
        loss=loss_settings("db"),
        recipe=read_recipe("probe", {"hidden_dim": 0}, epochs=4, learning_rate=0.1),
        features={"embeddings": features},
        label_matrix=sparse.csr_array(targets),
        splits=make_splits(),
        label_space=list("abcd"),
        label_statistics=statistics,
        grid=GRID,
        select_by="macro_f1",
        validation_rule="tuned",
        task="multi",
        seed=1,
        settings=SearchSettings(
            trials=3, learning_rate=(0.1, 10), startup_trials=1, warmup_steps=0
        ),
        studies=folder,
    )
    return [(row["state"], row["value"], row["settings"]) for row in found["trials"]]


def test_trials_do_not_depend_on_test_labels(tmp_path):
    features, targets = make_data()
    expected = trials(tmp_path / "first", targets, features)
    rows = np.flatnonzero(SPLIT == "test")
    targets[rows] = 1 - targets[rows]
    assert trials(tmp_path / "second", targets, features) == expected
    rows = np.flatnonzero(SPLIT == "validation")
    targets[rows] = targets[rows[::-1]]
    assert trials(tmp_path / "third", targets, features) != expected
