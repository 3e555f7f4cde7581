import logging

import numpy as np
import pytest
from scipy import sparse

from losslab.errors import SupervisionError
from losslab.supervision import (
    complete_groups,
    cooccurrence,
    group_by_coarse_class,
    group_by_communities,
    group_by_polarity,
    group_by_prefix,
    group_membership,
    tabulate_groups,
)

TREC = {
    "ABBR": "abb exp",
    "DESC": "def desc manner reason",
    "ENTY": "animal body color cremat currency dismed event food instru lang letter other plant "
    "product religion sport substance symbol techmeth termeq veh word",
    "HUM": "gr ind title desc",
    "LOC": "city country mount other state",
    "NUM": "code count date dist money ord other period perc speed temp volsize weight",
}
AAPD = {
    "cs": "it lg ai ds si dm lo cc ni cv cl cr sy dc ne ir gt cy pl se db cg na hc ce ma ro "
    "fl dl mm pf ms sc",
    "math": "it co oc pr na st lo nt",
    "stat": "ml th ap me",
    "physics": "soc-ph data-an",
    "quant-ph": "",
    "cmp-lg": "",
    "cond-mat": "stat-mech dis-nn",
    "q-bio": "nc qm",
    "nlin": "ao",
}


def sizes(groups):
    return {name: len(members) for name, members in groups.items()}


def test_trec_has_the_six_groups_of_table_6():
    labels = [f"{coarse}:{fine}" for coarse, words in TREC.items() for fine in words.split()]
    groups = group_by_coarse_class(labels, separator=":")
    assert sizes(groups) == {"ABBR": 2, "DESC": 4, "ENTY": 22, "HUM": 4, "LOC": 5, "NUM": 13}
    assert groups == group_by_prefix(labels, separator=":")


def test_aapd_has_the_groups_of_table_6():
    # The table prints 1 beside q-bio and two names: 53 labels of 54 with the 1.
    labels = [f"{top}.{sub}" for top, words in AAPD.items() for sub in words.split()]
    labels += [top for top, words in AAPD.items() if not words]
    groups = group_by_prefix(labels, separator=".")
    assert len(labels) == 54
    assert sizes(groups) == {
        "cs": 33,
        "math": 8,
        "stat": 4,
        "physics": 2,
        "quant-ph": 1,
        "cmp-lg": 1,
        "cond-mat": 2,
        "q-bio": 2,
        "nlin": 1,
    }


def test_sst5_has_the_three_groups_of_table_6():
    labels = ["very negative", "negative", "neutral", "positive", "very positive"]
    assert group_by_polarity(labels) == {
        "negative": ["very negative", "negative"],
        "neutral": ["neutral"],
        "positive": ["positive", "very positive"],
    }


def test_wos_groups_by_domain():
    domains = {"CS": 17, "Medical": 53, "Civil": 11, "ECE": 16, "biochemistry": 9, "MAE": 9}
    domains["Psychology"] = 19
    labels = [f"{domain}/area {n}" for domain, count in domains.items() for n in range(count)]
    assert len(labels) == 134
    assert sizes(group_by_coarse_class(labels, separator="/")) == domains


def test_prefix_is_the_top_class_and_coarse_the_next_one():
    labels = ["a--b--c", "a--b--d", "a--e", "f"]
    assert group_by_prefix(labels, separator="--") == {"a": labels[:3], "f": ["f"]}
    assert group_by_coarse_class(labels, separator="--") == {
        "a--b": labels[:2],
        "a": ["a--e"],
        "f": ["f"],
    }


def test_polarity_of_labels_without_any_is_an_error():
    with pytest.raises(SupervisionError, match=r"no label has a polarity.*found CS, MAE"):
        group_by_polarity(["CS", "MAE"])


def test_communities_find_labels_that_come_together():
    targets = sparse.csr_array([[1, 1, 0, 0, 0]] * 9 + [[0, 0, 1, 1, 0]] * 5 + [[0, 1, 1, 0, 0]])
    groups = group_by_communities(list("abcde"), cooccurrence(targets), seed=1)
    assert groups == {"b etc.": ["a", "b"], "c etc.": ["c", "d"], "e": ["e"]}


def test_communities_are_the_same_for_the_same_seed():
    dense = np.random.default_rng(0).random((400, 30)) < 0.1
    counts = cooccurrence(sparse.csr_array(dense.astype(np.int8)))
    labels = [f"label {n}" for n in range(30)]
    first = group_by_communities(labels, counts, seed=5)
    assert first == group_by_communities(labels, counts, seed=5)
    assert sorted(label for members in first.values() for label in members) == sorted(labels)


def test_label_listed_twice_in_a_group_counts_once():
    groups = complete_groups({"grain": ["corn", "wheat", "corn"]}, ["corn", "wheat"], "conf")
    assert groups == {"grain": ["corn", "wheat"]}


def test_unknown_labels_in_groups_are_named():
    with pytest.raises(SupervisionError, match=r"groups\.yml has 2 unknown labels: 'corm', 'oats'"):
        complete_groups({"grain": ["corn", "corm", "oats"]}, ["corn", "gold"], "groups.yml")


def test_label_in_no_group_is_its_own_group_and_is_logged(caplog):
    with caplog.at_level(logging.INFO):
        groups = complete_groups({"grain": ["corn", "wheat"]}, ["corn", "gold", "wheat"], "file")
    assert groups == {"grain": ["corn", "wheat"], "gold": ["gold"]}
    assert "1 labels in no group, each a group of its own: gold" in caplog.text


def test_group_with_the_name_of_a_label_outside_it_is_refused():
    with pytest.raises(SupervisionError, match="'gold' is a group and a label outside it"):
        complete_groups({"gold": ["silver"]}, ["gold", "silver"], "file")


def test_membership_has_a_row_per_label_and_a_column_per_group():
    membership = group_membership({"x": ["b", "c"], "y": ["c"], "a": ["a"]}, ["a", "b", "c"])
    assert membership.toarray().tolist() == [[0, 0, 1], [1, 0, 0], [1, 1, 0]]


def test_table_lists_groups_by_size():
    table = tabulate_groups({"a": ["a"], "x": ["b", "c"]}, {"a": 4, "b": 2, "c": 1})
    assert table.to_dict("records") == [
        {"group": "x", "labels": 2, "occurrences": 3, "members": "b, c"},
        {"group": "a", "labels": 1, "occurrences": 4, "members": "a"},
    ]
