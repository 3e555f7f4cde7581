"""The nodes that compare losses and render the page."""

import copy

import numpy as np
import pytest
from scipy import sparse

from losslab.errors import Failure, IncomparableError
from losslab.parameters import FrequencyGroupSettings
from losslab.pipelines.reporting import nodes
from losslab.pipelines.supervision.nodes import compute_label_statistics

from .small_data import REPORT, make_data, make_splits, run_nodes

LABELS = list("abcd")


@pytest.fixture(scope="module")
def evaluated():
    return {loss: run_nodes(make_data(), loss) for loss in ("bce", "db")}


@pytest.fixture(scope="module")
def results(evaluated):
    return {loss: done.results for loss, done in evaluated.items()}


@pytest.fixture(scope="module")
def label_matrix(evaluated):
    return evaluated["bce"].label_matrix


@pytest.fixture(scope="module")
def comparison(results):
    return nodes.compare_losses(results, REPORT, data_of(results))


def data_of(results):
    return results["bce"]["metrics"]["conditions"]["data"]


def of_other_seeds(results, loss):
    changed = copy.deepcopy(results)
    changed[loss]["metrics"]["conditions"]["seeds"] = ["1"]
    changed[loss]["metrics"]["fingerprint"] = "another"
    return changed


def test_comparison_has_a_row_per_loss_with_its_means(results, comparison):
    assert set(comparison["loss"]) == {"bce", "db"}
    for row in comparison.to_dict("records"):
        assert row["macro_f1"] == results[row["loss"]]["metrics"]["mean"]["macro_f1"]
        assert row["differs"] == ""


def test_results_under_other_conditions_are_refused_or_marked(results):
    changed = of_other_seeds(results, "db")
    with pytest.raises(IncomparableError, match="db: seeds is"):
        nodes.compare_losses(changed, REPORT, data_of(results))
    marking = REPORT.model_copy(update={"on_mismatch": "mark"})
    marked = nodes.compare_losses(changed, marking, data_of(results)).set_index("loss")["differs"]
    assert marked["bce"] == ""
    assert "seeds" in marked["db"]


def test_losses_that_failed_are_listed_and_the_others_compared(results):
    failed = {"focal": Failure("focal_loss.train", "the loss is nan"), **results}
    assert nodes.list_failures(failed) == {"focal": "the loss is nan"}
    assert set(nodes.compare_losses(failed, REPORT, data_of(results))["loss"]) == {"bce", "db"}


def test_first_loss_that_finished_is_the_reference_if_that_one_failed(results, comparison):
    failed = {**results, "bce": Failure("bce_loss.train", "the loss is nan")}
    table = nodes.compare_losses(failed, REPORT, data_of(results))
    assert nodes.compare_uncertainty(failed, table, REPORT)["reference"] == "db"


def test_results_on_other_data_are_refused(results):
    with pytest.raises(IncomparableError):
        nodes.compare_losses(results, REPORT, {"targets": "1"})


def test_uncertainty_and_ranks_are_those_of_the_comparison(results):
    learned = copy.deepcopy(results)
    for result in learned.values():
        result["metrics"]["training"]["mark"] = None
    comparison = nodes.compare_losses(learned, REPORT, data_of(results))
    uncertainty = nodes.compare_uncertainty(learned, comparison, REPORT)
    assert uncertainty["losses"]["bce"]["macro_f1"]["p"] is None
    assert uncertainty["losses"]["db"]["macro_f1"]["p"] is not None
    standings = nodes.rank_losses(comparison, uncertainty)
    first = comparison["loss"][0]
    macro = standings[standings["metric"] == "macro_f1"].set_index("loss")
    assert macro.loc[first, "rank"] == 1


@pytest.mark.parametrize("marked", ["bce", "db"])
def test_a_loss_that_had_not_learned_is_not_tested(results, marked):
    changed = copy.deepcopy(results)
    changed[marked]["metrics"]["training"]["mark"] = "stopped before it had learned"
    comparison = nodes.compare_losses(changed, REPORT, data_of(results))
    uncertainty = nodes.compare_uncertainty(changed, comparison, REPORT)
    assert {uncertainty["losses"][loss]["macro_f1"]["p"] for loss in results} == {None}
    assert uncertainty["losses"]["db"]["macro_f1"]["low"] is not None


def test_tables_hold_every_loss(results):
    for table in nodes.gather_tables(results):
        assert set(table["loss"]) == {"bce", "db"}


def test_labels_are_compared_between_the_reference_and_the_best_other_loss(
    results, comparison, label_matrix
):
    no_groups = FrequencyGroupSettings(head_min=None, tail_max=None)
    _, table = compute_label_statistics(label_matrix, LABELS, make_splits(), no_groups)
    alone = sparse.csr_array(np.eye(4, dtype=np.int8))
    scores, scatter, *_ = nodes.compare_labels(results, table, LABELS, alone, comparison, REPORT)
    assert sorted(scores["label"]) == LABELS
    shown = scatter.to_json()
    assert "bce" in shown
    assert "db" in shown


def test_disagreements_are_documents_one_loss_gets_right_alone(results, evaluated, label_matrix):
    splits = make_splits()
    table, _ = nodes.list_disagreements(results, splits, label_matrix, LABELS, REPORT)
    test = (splits["split"] == "test").to_numpy()
    truth = label_matrix[test].toarray()
    right = {
        loss: (done.predictions.of("test", "tuned", "1").toarray() == truth).all(axis=1)
        for loss, done in evaluated.items()
    }
    expected = splits["id"][test][right["bce"] != right["db"]]
    assert set(table["id"]) == set(expected)


def test_confusions_are_those_of_all_seeds_of_losses_that_learned(
    results, evaluated, label_matrix, comparison
):
    splits, alone = make_splits(), sparse.csr_array(np.eye(4, dtype=np.int8))
    learned = comparison.assign(mark="")
    given = (splits, label_matrix, LABELS, alone)
    table, figure = nodes.rank_confusions(results, *given, learned)
    told = [result["errors"]["confusions"] for result in results.values()]
    assert table["documents"].sum() == pytest.approx(sum(told))
    assert list(figure.data[0].x) == learned["loss"].tolist()
    marked = learned.assign(mark=np.where(learned["loss"] == "db", "had not learned", ""))
    table, _ = nodes.rank_confusions(results, *given, marked)
    assert table["documents"].sum() == results["bce"]["errors"]["confusions"]
    assert "db" not in table


def test_cases_are_of_the_reference_and_the_mask_losses(results, evaluated, label_matrix):
    splits, masked = make_splits(), {"mask_label": results["db"], "db": results["db"]}
    both = {"bce": results["bce"], **masked}
    _, cases = nodes.list_disagreements(both, splits, label_matrix, LABELS, REPORT)
    assert cases["losses"] == ["bce", "mask_label"]
    first, second = (evaluated[loss].predictions.of("test", "tuned", "1") for loss in ("bce", "db"))
    assert cases["differ"] == int((first != second).sum(axis=1).astype(bool).sum()) > 0
    assert cases["documents"] == 30
    _, none = nodes.list_disagreements(results, splits, label_matrix, LABELS, REPORT)
    assert (none["losses"], none["cases"]) == (["bce"], [])


def test_corpus_figures_are_those_of_the_splits(label_matrix):
    no_groups = FrequencyGroupSettings(head_min=None, tail_max=None)
    splits = make_splits()
    _, table = compute_label_statistics(label_matrix, LABELS, splits, no_groups)
    together = sparse.csr_array(label_matrix.T @ label_matrix)
    figures = nodes.draw_corpus(splits, label_matrix, table, together, LABELS)
    assert len(figures) == 4
    assert all(figure.data for figure in figures)


def test_papers_tables_need_no_run(tmp_path):
    text = nodes.compare_with_papers(tmp_path / "reports", tmp_path / "corpora")
    assert text.startswith("#")
