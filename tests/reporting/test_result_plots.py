"""What data each plot of results shows."""

import numpy as np
import pandas as pd
import pytest
from report_parts import (
    LABELS,
    draw_all,
    history,
    label_table,
    pooled,
    posterior,
    result,
    soft_history,
)
from scipy import sparse
from sklearn.metrics import f1_score, precision_score, recall_score

from losslab.evaluation import analyse_errors, compute_score_curves, tabulate_posterior
from losslab.reporting import (
    RESULT_PLOTS,
    build_standings,
    comparison_table,
    draw_confusions,
    draw_example_scores,
    draw_group_scores,
    draw_hard_and_soft_loss,
    draw_label_scatter,
    draw_learning_curves,
    draw_learning_time,
    draw_posteriors,
    draw_precision_recall,
    draw_ranks,
    draw_reliability,
    draw_sorted_scores,
    draw_training_curves,
    gather_histories,
    tabulate_label_scores,
)


@pytest.fixture
def standings():
    metrics = {"bce": result(0.4), "asl": result(0.3), "db": result(0.5)}
    return build_standings(comparison_table(metrics))


@pytest.fixture
def scored():
    random = np.random.default_rng(3)
    truth = random.random((50, len(LABELS))) < 0.3
    scores = np.clip(truth * 0.3 + random.random((2, 50, len(LABELS))) * 0.7, 0, 1)
    return truth, scores


def predicted(scores):
    """Labels by thresholds of 0.4 and 0.5."""
    return [sparse.csr_array(part > cut) for part, cut in zip(scores, (0.4, 0.5), strict=True)]


def curves_of(truth, scores, *, probability=True):
    table = compute_score_curves(
        sparse.csr_array(truth), scores, predicted(scores), probability=probability
    )
    return table.assign(loss="bce")


def test_group_scores_are_a_row_per_loss_with_a_dot_and_interval_per_group(standings):
    figure = draw_group_scores(standings)
    assert [trace.name for trace in figure.data] == ["head", "medium", "tail"]
    for trace in figure.data:
        assert dict(zip(trace.y, trace.x, strict=True)) == {"db": 0.5, "bce": 0.4, "asl": 0.3}
        assert list(trace.error_x.array) == pytest.approx([0.01] * 3)
    assert figure.layout.meta["rows"] == ["db", "bce", "asl"]


def test_group_scores_show_no_interval_where_none_is_known():
    figure = draw_group_scores(
        build_standings(comparison_table({"bce": result(0.4, spread=None, seeds=1)}))
    )
    assert not figure.data[0].error_x.visible


def test_rank_map_puts_the_best_mean_rank_on_top(standings):
    (cells,) = draw_ranks(standings).data
    assert list(cells.y) == ["db", "bce", "asl"]
    places = dict(zip(cells.x, np.array(cells.z).T.tolist(), strict=True))
    assert places["macro-F1"] == [1, 2, 3]
    assert places["ranking loss"] == [3, 2, 1]


def test_learning_curve_is_the_mean_over_the_seeds_still_training():
    two = pd.DataFrame(
        {"epoch": [1, 2, 1], "seed": [1, 1, 2], "validation_macro_f1": [0.2, 0.5, 0.4]}
    )
    line = draw_learning_curves(gather_histories({"bce": two})).data[0]
    assert list(line.x) == [1, 2]
    assert list(line.y) == pytest.approx([0.3, 0.5])


def test_a_learning_curve_tells_what_its_training_was_selected_by():
    two = pd.concat([history(), history(epochs=3).assign(seed=2, ended_by="patience")])
    line = draw_learning_curves(gather_histories({"bce": two})).data[0]
    assert line.hovertext == (
        "seed 1 selected by validation macro-F1, epoch 5 of 5<br>ended by budget<br>"
        "seed 2 selected by validation macro-F1, epoch 3 of 3<br>ended by patience"
    )


def test_learning_time_is_the_best_so_far_by_minute():
    falling = history().assign(validation_macro_f1=[0.1, 0.4, 0.3, 0.2, 0.5])
    line = draw_learning_time(gather_histories({"bce": falling})).data[0]
    assert list(line.x) == pytest.approx([0.05, 0.1, 0.15, 0.2, 0.25])
    assert list(line.y) == [0.1, 0.4, 0.4, 0.4, 0.5]


def test_a_seed_that_stopped_keeps_its_minutes_and_its_best():
    seeds = pd.DataFrame(
        {
            "seed": [1, 1, 2],
            "epoch": [1, 2, 1],
            "train_seconds": [60.0, 120.0, 300.0],
            "validation_macro_f1": [0.2, 0.3, 0.6],
        }
    )
    table = gather_histories({"bce": seeds})
    assert table["minutes"].tolist() == [3.0, 3.5]
    assert table["best_macro_f1"].tolist() == pytest.approx([0.4, 0.45])
    assert table["validation_macro_f1"].tolist() == pytest.approx([0.4, 0.3])


def test_training_curves_start_at_one_solid_for_training_dotted_for_validation():
    solid, dotted = draw_training_curves(gather_histories({"bce": history()})).data
    assert list(solid.y) == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5], abs=1e-4)
    assert dotted.line.dash == "dot"
    assert dotted.y[3] == pytest.approx(0.5)
    assert {trace.meta["loss"] for trace in (solid, dotted)} == {"bce"}


def test_hard_and_soft_loss_stand_over_accuracy_by_step():
    table = gather_histories({"kwls": soft_history(from_step=40), "bce": history()})
    figure = draw_hard_and_soft_loss(table, from_step=40)
    hard, soft, accuracy = figure.data
    assert list(hard.x) == list(soft.x) == list(accuracy.x) == [20, 40, 60, 80, 100]
    assert list(hard.y) == [1.0, 0.5, 0.2, 0.1, 0.1]
    assert list(soft.y) == [0, 0, 1e-6, 1e-6, 1e-6]
    assert list(accuracy.y) == [0.1, 0.2, 0.2, 0.3, 0.4]
    assert (hard.yaxis, soft.yaxis, accuracy.yaxis) == ("y", "y2", "y3")
    assert {line.x0 for line in figure.layout.shapes} == {40}


def test_without_soft_targets_there_is_no_soft_loss_to_show():
    figure = draw_hard_and_soft_loss(gather_histories({"bce": history()}), from_step=40)
    assert not figure.data
    assert not figure.layout.shapes


def test_sorted_scores_show_median_and_quartiles_of_each_place(scored):
    band, line = draw_sorted_scores(curves_of(*scored)).data
    ranked = np.sort(scored[1].reshape(-1, len(LABELS)), axis=1)[:, ::-1]
    assert list(line.y) == pytest.approx(np.median(ranked, axis=0), abs=1e-4)
    low, high = np.quantile(ranked, [0.25, 0.75], axis=0)
    assert list(band.y) == pytest.approx([*high, *low[::-1]], abs=1e-4)


def test_a_line_per_document_shows_its_scores_in_falling_order(scored):
    figure = draw_example_scores(curves_of(*scored))
    lines = {trace.name.partition(":")[0]: trace for trace in figure.data}
    gaps = [place for place, y in enumerate(lines["documents"].y) if y is None]
    assert len(gaps) == 25
    first = np.sort(scored[1][0, 0])[::-1]
    last = np.sort(scored[1][0, -1])[::-1]
    assert list(lines["documents"].y[: gaps[0]]) == pytest.approx(first, abs=1e-3)
    assert list(lines["documents"].y[gaps[-2] + 1 : gaps[-1]]) == pytest.approx(last, abs=1e-3)
    ranked = np.sort(scored[1].reshape(-1, len(LABELS)), axis=1)[:, ::-1]
    for name, share in {"lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}.items():
        assert list(lines[name].y) == pytest.approx(np.quantile(ranked, share, axis=0), abs=1e-4)


def test_knee_is_where_the_median_is_farthest_from_the_line_through_its_ends():
    falling = np.array([0.95, 0.9, 0.3, 0.2, 0.15, 0.1])
    curves = curves_of(np.eye(6)[:4] > 0, np.tile(falling, (2, 4, 1)))
    ends = np.array([5.0, falling[-1] - falling[0]])
    away = [ends[0] * (y - falling[0]) - ends[1] * place for place, y in enumerate(falling)]
    (knee,) = draw_example_scores(curves).data[-1:]
    place = int(np.argmin(away))
    assert list(knee.x) == [0, place + 1, place + 1]
    assert list(knee.y) == [falling[place], falling[place], 0]


def test_a_straight_or_arched_curve_has_no_knee():
    for flat in (np.linspace(1, 0, 6), np.array([1.0, 0.99, 0.9, 0.7, 0.4, 0.0]), np.ones(6)):
        curves = curves_of(np.eye(6)[:4] > 0, np.tile(flat, (2, 4, 1)))
        assert "knee" not in set(curves["curve"])
        assert len(draw_example_scores(curves).data) == 4


def test_single_documents_are_shown_of_one_loss_at_a_time(scored):
    curves = curves_of(*scored)
    figure = draw_example_scores(pd.concat([curves, curves.assign(loss="db")]))
    assert {t.meta["loss"] for t in figure.data if t.visible} == {"bce"}
    assert {t.meta["loss"] for t in figure.data if not t.visible} == {"db"}


def test_reliability_compares_scores_with_shares_and_tells_the_calibration_error(scored):
    truth, scores = scored
    (line,) = draw_reliability(curves_of(truth, scores)).data
    flat, true = scores.ravel(), np.tile(truth.ravel(), 2)
    error = 0.0
    for low in np.arange(10) / 10:
        inside = (flat >= low) & (flat < low + 0.1)
        if inside.any():
            error += inside.mean() * abs(flat[inside].mean() - true[inside].mean())
    assert line.name == f"bce ({error:.3f})"
    assert sum(line.text) == flat.size


def test_only_probabilities_have_a_calibration_and_a_scale(scored):
    curves = curves_of(*scored, probability=False)
    assert not draw_reliability(curves).data
    assert not draw_sorted_scores(curves).data
    assert not draw_example_scores(curves).data
    assert len(draw_precision_recall(curves).data) == 2


def test_precision_and_recall_are_those_at_the_threshold_and_at_the_decision(scored):
    truth, scores = scored
    line, dot = draw_precision_recall(curves_of(truth, scores)).data
    both, pooled = np.tile(truth.ravel(), 2), scores.ravel()
    cut = np.sort(pooled[both])[len(pooled[both]) // 2]
    at = int(np.argmin(np.abs(np.array(line.text) - cut)))
    exact = np.sort(pooled[both])[np.argmin(np.abs(np.sort(pooled[both]) - line.text[at]))]
    guess = pooled >= exact
    assert line.x[at] == pytest.approx(recall_score(both, guess), abs=1e-3)
    assert line.y[at] == pytest.approx(precision_score(both, guess), abs=1e-3)
    decided = np.concatenate([(scores[0] > 0.4).ravel(), (scores[1] > 0.5).ravel()])
    assert dot.x[0] == pytest.approx(recall_score(both, decided), abs=1e-4)
    assert dot.y[0] == pytest.approx(precision_score(both, decided), abs=1e-4)


def test_confused_pairs_are_rows_with_the_documents_of_each_loss():
    table = pooled(["bce", "db", "zlpr"])
    (cells,) = draw_confusions(table).data
    assert list(cells.x) == ["bce", "db", "zlpr"]
    assert list(cells.y) == ["label 0 → label 5", "label 5 → label 0"]
    assert np.array(cells.z).tolist() == [[4.5, 4.5, 2.0], [0.0, 0.0, 1.5]]
    assert (cells.zmin, cells.zmax) == (0, 4.5)


def test_nothing_is_drawn_where_no_loss_confuses_anything():
    empty = pooled(["bce"]).iloc[:0]
    assert list(draw_confusions(empty).data[0].y) == []


def test_scatter_shows_each_labels_f1_with_both_losses(scored):
    truth, scores = scored
    errors = {
        loss: analyse_errors(
            sparse.csr_array(truth),
            predicted(part),
            labels=LABELS,
            frequencies=range(len(LABELS)),
            cardinality_limits=[1],
        )
        for loss, part in {"bce": scores, "db": scores[::-1]}.items()
    }
    shuffled = label_table().iloc[::-1]
    table = tabulate_label_scores(errors, shuffled, LABELS)
    oracle = np.mean(
        [
            f1_score(truth, scores[seed] > cut, average=None, zero_division=0)
            for seed, cut in enumerate([0.4, 0.5])
        ],
        axis=0,
    )
    assert table["bce"].tolist() == pytest.approx(oracle[::-1])
    figure = draw_label_scatter(table, "bce", "db")
    points = {
        name: (x, y)
        for trace in figure.data
        for name, x, y in zip(trace.text, trace.x, trace.y, strict=True)
    }
    expected = table.set_index("label")
    assert set(points) == set(LABELS)
    for name, point in points.items():
        assert point == pytest.approx(tuple(expected.loc[name, ["bce", "db"]]), abs=1e-4)


def test_posteriors_show_median_and_interval_by_label_over_the_prior():
    table = posterior()
    figure = draw_posteriors({"sbayes_f1": table}, label_table())
    assert (figure.layout.yaxis.type, figure.layout.yaxis2.type) == ("log", "linear")
    for parameter, axis in (("beta", "y"), ("eta", "y2")):
        prior, *groups = [trace for trace in figure.data if trace.yaxis == axis]
        rows = table[table["parameter"] == parameter].set_index("label")
        assert list(prior.x[:6]) == LABELS  # which fall in frequency
        assert {*prior.y} == {*rows["prior_low"].round(4), *rows["prior_high"].round(4)}
        assert [trace.name for trace in groups] == ["head", "medium", "tail"]
        for trace in groups:
            own = rows.loc[list(trace.x)]
            assert list(trace.y) == pytest.approx(own["median"], abs=1e-4)
            above, below = trace.error_y.array, trace.error_y.arrayminus
            assert trace.y + np.array(above) == pytest.approx(own["high"].to_numpy(), abs=2e-4)
            assert trace.y - np.array(below) == pytest.approx(own["low"].to_numpy(), abs=2e-4)


def test_posteriors_of_many_labels_show_some_of_each_frequency():
    labels = [f"label {place}" for place in range(500)]
    frequencies = list(range(500, 0, -1))
    table = tabulate_posterior(
        {"eta": np.zeros((2, 500))},
        {"eta": "normal"},
        labels=labels,
        frequencies=frequencies,
        confidence=0.9,
    )
    groups = pd.DataFrame({"label": labels, "group": "head"})
    shown = draw_posteriors({"sbayes_f1": table}, groups).data[1].customdata
    assert 50 <= len(shown) <= 60
    assert (shown[0], shown[-1]) == (500, min(shown))
    assert min(shown) <= 9


def test_without_a_loss_that_samples_there_is_no_posterior_to_show():
    assert not draw_posteriors({}, label_table()).data


def test_every_result_plot_of_the_table_can_be_drawn_and_has_a_title(standings):
    plots = draw_all(["bce", "asl", "db"], standings)["plots"]
    assert set(plots) == set(RESULT_PLOTS)
    assert all(figure.layout.title.text for figure in plots.values())
