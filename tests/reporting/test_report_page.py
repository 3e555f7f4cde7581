import json
import re

import pandas as pd
import pytest
from report_parts import (
    OF_PROBABILITIES,
    SPECIAL,
    TABLE,
    errors,
    label_table,
    mark,
    page,
    result,
    rules,
    sure_of,
)

from losslab.reporting import (
    RESULT_PLOTS,
    CorpusPart,
    build_standings,
    comparison_table,
    draw_long_tail,
    to_markdown,
)
from losslab.reporting.best_losses import find_best_losses
from losslab.reporting.definitions import (
    COLUMNS,
    HEADLINE_METRICS,
    OWN_METRICS,
    lower_is_better,
)


@pytest.fixture
def metrics():
    return {"bce": result(0.4), "db": result(0.5)}


def sure(p: float) -> dict:
    return sure_of(["db"], p)


def section(html: str, name: str) -> str:
    return html.split(f'<section id="{name}"')[1].split("</section>")[0]


def test_comparison_puts_the_best_macro_f1_first(metrics):
    table = comparison_table(metrics)
    assert table["loss"].tolist() == ["db", "bce"]
    assert table.loc[0, "tail/macro_f1"] == 0.5
    assert table.loc[0, "tail/macro_f1_std"] == 0.01


def test_comparison_has_metrics_at_the_natural_threshold_where_a_loss_has_one(metrics):
    assert not [name for name in comparison_table(metrics) if name.startswith("own/")]
    for loss, own in (("bce", None), ("db", result(0.3))):
        values = dict.fromkeys(OWN_METRICS, 0.25) if own else {}
        metrics[loss]["own"] = own and {**own, "mean": values, "std": dict.fromkeys(values, 0.02)}
    table = comparison_table(metrics).set_index("loss")
    for name in OWN_METRICS:
        assert table.loc["db", [f"own/{name}", f"own/{name}_std"]].tolist() == [0.25, 0.02]
        assert pd.isna(table.loc["bce", f"own/{name}"])
    assert {"own/micro_precision", "own/macro_recall", "own/macro_f1"} < set(table)


def test_markdown_has_a_row_per_loss_and_columns_of_one_width(metrics):
    lines = to_markdown(comparison_table(metrics)).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[2].startswith("| db ")
    assert "0.500 ± 0.010" in lines[2]


UNTRAINED = "stopped before it had learned: training and validation loss were still falling"


def test_a_loss_that_had_not_learned_is_marked_in_the_table_and_explained_below(metrics):
    metrics["asl"] = result(0.3, untrained=UNTRAINED)
    table = comparison_table(metrics)
    assert table.set_index("loss")["mark"].to_dict() == {"bce": "", "db": "", "asl": UNTRAINED}
    lines = to_markdown(table).splitlines()
    assert [line.split()[1:3] for line in lines[2:5]] == [["db", "|"], ["bce", "|"], ["asl", "*"]]
    assert lines[5:] == [f"* asl {UNTRAINED}"]


def test_a_loss_that_had_not_learned_is_never_called_worse(metrics):
    worse = {"value": 0.3, "low": 0.2, "high": 0.4, "difference": -0.1, "p_holm": 0.001}
    uncertainty = {"losses": {loss: dict.fromkeys(COLUMNS, worse) for loss in ("db", "asl")}}
    metrics["asl"] = result(0.3, untrained=UNTRAINED)
    table = build_standings(comparison_table(metrics), uncertainty=uncertainty)
    macro = table[table["metric"] == "macro_f1"].set_index("loss")
    assert macro["p"].dropna().to_dict() == {"db": 0.001}
    assert macro["rank"].to_dict() == {"db": 1, "bce": 2, "asl": 3}
    html = page(metrics, uncertainty=uncertainty)
    rows = {
        loss: re.search(rf'<tr data-loss="{loss}".*?</tr>', html, flags=re.DOTALL).group()
        for loss in metrics
    }
    assert {loss for loss, row in rows.items() if "significantly below" in row} == {"db"}
    assert {loss for loss, row in rows.items() if UNTRAINED in row} == {"asl"}
    lead = " ".join(re.search(r'<p class="lead">(.*?)</p>', html, flags=re.DOTALL).group(1).split())
    assert "Stopped before it had learned: asl" in lead
    assert "Not tested against bce, so called neither better nor worse." in lead


def test_nothing_is_tested_against_a_reference_that_had_not_learned():
    metrics = {"bce": result(0.4, untrained=UNTRAINED), "db": result(0.5)}
    standings = build_standings(comparison_table(metrics), uncertainty=sure(0.01))
    assert standings["p"].isna().all()
    assert "bce is the reference: no loss is tested against it." in page(metrics)
    assert "had learned:" not in page({"bce": result(0.4), "db": result(0.5)})


def test_the_page_tells_what_each_training_was_selected_by(metrics):
    told = section(page(metrics), "figures").split('id="selection"')[1]
    sentence = "selected by validation macro-F1, epoch 5 of 5; ended by budget"
    assert told.count(sentence) == len(metrics)


def test_one_seed_shows_no_spread():
    one = {"bce": result(0.4, spread=None, seeds=1)}
    assert "±" not in to_markdown(comparison_table(one))
    assert "± 0." not in page(one)


def test_standings_rank_by_the_side_that_is_better(metrics):
    table = build_standings(comparison_table(metrics)).set_index(["metric", "loss"])
    assert table.loc[("macro_f1", "db"), "rank"] == 1
    assert table.loc[("ranking_loss", "db"), "rank"] == 2
    assert table.loc[("macro_f1", "db"), "difference"] == pytest.approx(0.1)
    assert table.loc[("macro_f1", "db"), ["low", "high"]].tolist() == pytest.approx([0.49, 0.51])


def test_standings_of_equal_losses_share_the_better_rank():
    table = build_standings(
        comparison_table({"bce": result(0.4), "db": result(0.4), "asl": result(0.3)})
    )
    ranks = table[table["metric"] == "micro_f1"].set_index("loss")["rank"].to_dict()
    assert ranks == {"bce": 1, "db": 1, "asl": 3}


def test_standings_take_interval_and_test_where_they_are_known(metrics):
    table = build_standings(comparison_table(metrics), uncertainty=sure(0.01)).set_index(
        ["metric", "loss"]
    )
    assert table.loc[("macro_f1", "db"), ["low", "high", "p"]].tolist() == [0.45, 0.56, 0.01]
    assert pd.isna(table.loc[("macro_f1", "bce"), "p"])
    assert table.loc[("macro_f1", "bce"), "low"] == pytest.approx(0.39)


@pytest.mark.parametrize(
    ("uncertainty", "told"),
    [
        (sure(0.01), "significant (p = 0.010, Holm)"),
        (sure(0.0001), "significant (p < 0.001, Holm)"),
        (sure(0.3), "not significant (p = 0.30, Holm)"),
        (None, "not tested"),
    ],
)
def test_answers_say_how_sure_they_are(metrics, uncertainty, told):
    answers = find_best_losses(
        build_standings(comparison_table(metrics), uncertainty=uncertainty), "bce"
    )
    assert [answer["metric"] for answer in answers] == list(HEADLINE_METRICS)
    assert {answer["loss"] for answer in answers} == {"db"}
    assert {answer["significance"] for answer in answers} == {told}


WHY = "recipe.training.epochs is 100, expected 300"


def test_loss_of_other_conditions_has_neither_rank_nor_difference(metrics):
    metrics["asl"] = result(0.3)
    unlike = {"low": 0.45, "high": 0.56, "difference": None, "p_holm": None}
    uncertainty = {"losses": {"db": dict.fromkeys(COLUMNS, unlike)}}
    table = build_standings(mark(comparison_table(metrics), {"db": WHY}), uncertainty=uncertainty)
    own = table[table["metric"] == "macro_f1"].set_index("loss")
    assert own["rank"].dropna().to_dict() == {"bce": 1, "asl": 2}
    assert own["difference"].dropna().to_dict() == pytest.approx({"bce": 0, "asl": -0.1})
    assert {answer["loss"] for answer in find_best_losses(table, "bce")} == {"bce"}
    assert find_best_losses(table, "bce")[0]["strip"]["highest"] == pytest.approx(0.41)


def test_page_tells_in_its_row_why_a_loss_is_not_comparable(metrics):
    metrics["asl"] = result(0.3)
    html = page(metrics, differs={"db": WHY})
    told = {
        loss: re.search(rf'<tr data-loss="{loss}".*?</tr>', html, flags=re.DOTALL).group()
        for loss in metrics
    }
    assert {loss for loss, row in told.items() if f"not comparable:</b> {WHY}" in row} == {"db"}
    assert marked(html, "db") == set()
    assert "macro_f1" in marked(html, "bce")
    assert "Of 2 losses, <b>bce</b>" in html
    assert re.search(r"\.\s+Not comparable: 1 more", html)
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, flags=re.DOTALL).group(1))
    assert data["atFirst"] == ["asl", "bce"]
    assert data["figures"]["ranks"]["layout"]["meta"]["rows"] == ["bce", "asl"]
    assert "not comparable" not in page(metrics)


def test_answer_stands_on_a_strip_between_the_worst_and_the_end_of_its_interval():
    metrics = {"bce": result(0.2, None), "asl": result(0.3, None), "db": result(0.4, None)}
    strip = find_best_losses(build_standings(comparison_table(metrics)), "bce")[0]["strip"]
    assert (strip["reference"], strip["others"], strip["best"]) == (3, [50], 97)


def test_reference_that_wins_is_told_as_such():
    html = page({"bce": result(0.5), "db": result(0.4)})
    assert "It is the reference: no loss is better." in html


def test_a_tie_has_joint_winners_and_the_reference_stands_for_them():
    tied = {"db": result(0.5), "bce": result(0.5), "asl": result(0.4)}
    standings = build_standings(comparison_table(tied))
    best = find_best_losses(standings, "bce")[0]
    assert (set(best["winners"]), best["loss"]) == ({"db", "bce"}, "bce")
    html = " ".join(page(tied).split())
    first, second = best["winners"]
    assert f"<b>{first}</b> and <b>{second}</b> share the best macro-F1" in html
    assert f"<span>{first}, {second}</span>" in html
    assert "A tie with the reference" in html
    assert "share the best" not in page({"bce": result(0.4), "db": result(0.5)})


def test_a_loss_identical_to_another_says_so_in_its_row(metrics):
    told = "identical to bce in every prediction: its mask is empty: <no> group"
    html = page(metrics, diagnosis={"findings": [], "identical": {"db": told}})
    rows = {
        loss: re.search(rf'<tr data-loss="{loss}".*?</tr>', html, flags=re.DOTALL).group()
        for loss in metrics
    }
    assert "its mask is empty: &lt;no&gt; group" in rows["db"]
    assert "identical" not in rows["bce"]


def test_findings_stand_before_the_comparison_with_texts_escaped(metrics):
    suspect = {"id": "<i>7", "text": "<b>x", "split": "test", "label": "<u>", "gold": True}
    diagnosis = {
        "findings": [
            {"key": "start", "text": "Start with bce & see.", "details": []},
            {"key": "silent", "text": "Never <predicted>.", "details": ["db: <a>."]},
            {"key": "suspects", "text": "1 document.", "details": []},
        ],
        "suspects": [{**suspect, "probability": 0.031}],
    }
    html = page(metrics, diagnosis=diagnosis)
    part = html.split('id="diagnosis"')[1].split("</section>")[0]
    assert html.index('id="diagnosis"') < html.index('id="comparison"')
    for text in (
        "bce &amp; see.",
        "Never &lt;predicted&gt;.",
        "db: &lt;a&gt;.",
        "&lt;i&gt;7",
        "0.031",
    ):
        assert text in part
    assert 'href="#diagnosis"' in html
    assert 'id="diagnosis"' not in page(metrics)


def test_every_section_is_in_the_navigation(metrics):
    for loss in metrics.values():
        loss["rules"] = rules(0.4)
    html = page(metrics, mistakes={"db": errors("db")}, soft_labels_page=True)
    links = re.search(r'<nav aria-label="Sections">(.*?)</nav>', html, flags=re.DOTALL).group(1)
    for name in re.findall(r'<section id="(\w+)"', html):
        assert f'href="#{name}"' in links
    assert "soft_labels.html" in links


def test_the_p_of_the_answer_stays_together(metrics):
    html = page(metrics, uncertainty=sure(0.3))
    assert html.count('<span class="together">(p = 0.30, Holm)</span>') == 1 + len(HEADLINE_METRICS)


def test_page_needs_no_other_file(metrics):
    html = page(metrics)
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", html)
    assert "1,234" in html
    assert len(html) < 6_000_000


def marked(html: str, loss: str) -> set[str]:
    row = re.search(rf'<tr data-loss="{loss}".*?</tr>', html, flags=re.DOTALL).group()
    return set(re.findall(r'<td data-column="([^"]+)" data-value="[^"]*" class="best"', row))


LOWER = {key for key in COLUMNS if lower_is_better(key)}


def test_page_marks_the_best_of_each_column_and_the_lowest_loss(metrics):
    html = page(metrics)
    assert {"ranking_loss", "hamming_loss"} <= LOWER
    assert marked(html, "bce") == LOWER
    assert marked(html, "db") == set(COLUMNS) - LOWER


def test_page_marks_significant_differences(metrics):
    html = page(metrics, uncertainty=sure(0.01))
    assert html.count('class="sign better"') == len(COLUMNS) - len(LOWER)
    assert html.count('class="sign worse"') == len(LOWER)  # a higher ranking loss
    assert "worse: significantly above the reference" in html
    assert 'class="sign' not in page(metrics, uncertainty=sure(0.2))


def test_loss_without_probabilities_has_a_dash_and_no_rank_by_metrics_of_probabilities(metrics):
    html = page({**metrics, "warp": result(0.3, probability=False)})
    row = html.split('<tr data-loss="warp"')[1].split("</tr>")[0]
    cells = dict(re.findall(r'data-column="([^"]+)" data-value=""[^>]*><span[^>]*>([^<]*)<', row))
    assert {name for name in cells if name in COLUMNS} == OF_PROBABILITIES
    assert {cells[name] for name in OF_PROBABILITIES} == {"-"}
    assert marked(html, "bce") == OF_PROBABILITIES
    assert OF_PROBABILITIES.isdisjoint(marked(html, "warp"))


def test_interval_difference_and_p_of_a_value_stand_in_its_cell(metrics):
    row = section(page(metrics, uncertainty=sure(0.01)), "comparison").split('data-loss="db"')[1]
    cell = re.search(r'<td data-column="macro_f1".*?</td>', row).group()
    told = re.findall(r'class="details">(.*?)</small>', cell)
    assert told == ["0.450 to 0.560", "+0.100", "p = 0.010"]
    assert "title=" not in cell


def test_every_metric_has_its_definition_one_click_away(metrics):
    html = page(metrics)
    targets = set(re.findall(r'popovertarget="([^"]+)"', html))
    definitions = re.findall(r'popover id="([^"]+)" .*?<p>(.+?)</p>', html)
    assert {f"define-{key.replace('/', '-')}" for key in COLUMNS} <= targets
    about = set(re.findall(r'<dialog popover id="(about-[^"]+)"', html))
    assert about == {"about-bce", "about-db"}
    assert targets <= {name for name, _ in definitions} | about


def test_tables_of_rules_and_errors_and_what_is_sure_have_definitions_too(metrics):
    for loss in metrics.values():
        loss["rules"] = rules(0.4)
    html = page(metrics, uncertainty=sure(0.01), mistakes={"db": errors("db")})
    for part, keys in {
        "decisions": {"rule-tuned", "rule-per_label", "macro_f1"},
        "errors": {"confusion", "instances", "micro_f1", "band_macro_f1", "decile"},
        "comparison": {"interval", "difference", "p", "undefined_rows", "undefined_labels"},
    }.items():
        assert {f"define-{key}" for key in keys} <= set(
            re.findall(r'popovertarget="([^"]+)"', section(html, part))
        )


def test_labels_confused_whatever_the_loss_stand_before_those_of_a_single_one(metrics):
    html = section(page(metrics, mistakes={"db": errors("db")}), "errors")
    told = html.split('<tbody id="pairs">')[0]
    assert f"sums over {len(metrics)} losses" in told
    rows = re.findall(r"<tr>(<th scope=\"row\".*?)</tr>", told)
    first, last = (re.sub(r"<[^>]+>", "|", row).strip("|").split("||") for row in rows)
    total = 4.5 * (len(metrics) - 1) + 2
    assert first == ["label 0", "label 5", f"{total:.1f}", str(len(metrics)), "yes"]
    assert last == ["label 5", "label 0", "1.5", "1", "no"]


def test_no_two_elements_have_the_same_id(metrics):
    html = page(metrics, mistakes={"db": errors("db")}).partition(
        '<script type="application/json"'
    )[0]
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids)) > 50


def test_definitions_name_their_conventions_for_undefined_cases(metrics):
    html = page(metrics)
    told = dict(re.findall(r'popover id="define-([^"]+)" .*?<p>(.+?)</p>', html))
    assert "neither labels nor predictions counts as 1" in told["example_f1"]
    assert "without labels counts as 0" in told["average_precision"]
    assert "count as 0" in told["band_macro_f1"]
    assert 'data-column="macro_f1_absent_as_one"' in html


def test_page_tells_how_many_documents_and_labels_are_undefined(metrics):
    for loss, labels in {"bce": 3.5, "db": 2.0}.items():
        metrics[loss]["mean"] |= {
            "rows_without_labels": 1.0,
            "labels_without_positives": 4.0,
            "undefined_rows": 1.0,
            "undefined_labels": labels,
        }
    html = page(metrics)
    assert "1 test document without a label, 4 labels without a test document" in html
    assert "1 of these documents and 2 to 3.5 of these labels, depending on the loss" in html
    for loss in metrics.values():
        loss["mean"] |= {"rows_without_labels": 0.0, "labels_without_positives": 0.0}
    assert "Undefined cases: none;" in page(metrics)


def test_page_of_a_single_label_task_speaks_of_argmax_not_of_thresholds(metrics):
    for loss in metrics.values():
        loss |= {"rule": "argmax", "rules": {"argmax": rules(0.4)["tuned"]}}
    html = page(metrics)
    assert "tuned" not in section(html, "comparison") + section(html, "figures")
    assert "Decision rule: argmax" in section(html, "comparison")
    assert "fitted" not in section(html, "decisions")


def test_labels_and_names_cannot_break_out_of_the_page(metrics):
    evil = "</script><script>alert(1)</script>"
    drawn = {"long_tail": draw_long_tail(label_table().assign(label=[evil, *"bcdef"]))}
    corpus = CorpusPart(TABLE, [f"1 rows rejected: {evil}"], drawn)
    html = page(metrics, dataset=evil, corpus=corpus, command=evil)
    assert evil not in html


def test_page_tells_where_rows_have_different_numbers_of_seeds():
    metrics = {"bce": result(0.4, seeds=1, spread=None), "db": result(0.5, seeds=3)}
    assert "1 to 3 seeds each" in page(metrics)


def test_page_shows_the_table_of_the_corpus_what_is_odd_and_its_figures(metrics):
    drawn = {"long_tail": draw_long_tail(label_table())}
    html = page(metrics, corpus=CorpusPart(TABLE, ["3 labels only in test", "1 torn row"], drawn))
    cells = re.findall(r"<td>(.*?)</td>", html.split('<h2 id="corpus-title">')[1])
    expected = ["2,468", "89", "3", "1.500", "1", "0.500", "1,234.0", "1200", "2,000", "468"]
    assert cells[:10] == expected
    assert "Remarks: 3 labels only in test; 1 torn row." in html
    assert 'id="long_tail"' in html


def test_page_tells_how_to_reproduce_it(metrics):
    html = page(
        metrics,
        command="kedro run --params=seeds=3",
        commit="0123456789abcdef",
        dirty=True,
        versions={"torch": "2.9"},
    )
    assert "kedro run --params=seeds=3" in html
    assert "0123456789ab</code> with uncommitted changes" in html
    assert "<dt>torch</dt><dd>2.9</dd>" in html


def test_page_links_the_page_of_soft_labels_only_where_there_is_one(metrics):
    assert "soft_labels.html" not in page(metrics)
    assert "soft_labels.html" in page(metrics, soft_labels_page=True)


def test_scripts_find_every_loss_and_figure_in_the_data(metrics):
    html = page(metrics)
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, flags=re.DOTALL).group(1))
    assert data["losses"] == ["db", "bce"]
    assert data["atFirst"] == ["db", "bce"]
    assert set(data["labels"]) == {"label", "group", "train", "db", "bce"}
    for name in data["figures"]:
        assert f'id="{name}"' in html


def test_page_shows_what_each_rule_gives_and_loses_on_the_way_to_test(metrics):
    def figures(value):
        return {"micro_f1": 0.9, "macro_f1": value}

    metrics["bce"]["rules"] = {
        "tuned": {"validation": figures(0.45), "test": figures(0.4)},
        "per_label": {"validation": figures(0.6), "test": figures(0.41)},
    }
    metrics["db"]["rules"] = {"tuned": {"validation": figures(0.5), "test": figures(0.5)}}
    html = page(metrics).split('id="decisions"')[1].split("</section>")[0]
    rows = re.findall(r"<tr><th[^>]*><span[^>]*>(\w+)</span></th>(.*?)</tr>", html)
    cells = {name: re.findall(r"<td[^>]*>(.*?)</td>", row) for name, row in rows}
    assert cells == {
        "db": ["0.500 <small>+0.000</small>", "-"],
        "bce": ["0.400 <small>-0.050</small>", "0.410 <small>-0.190</small>"],
    }


def test_page_leaves_out_rules_and_errors_that_are_not_known(metrics):
    html = page(metrics)
    assert 'id="decisions"' not in html
    assert 'id="errors"' not in html


def test_page_shows_every_metric_of_the_natural_threshold_of_losses_that_have_one(metrics):
    values = {"micro_f1": 0.61, "micro_precision": 0.7, "micro_recall": 0.54, "macro_f1": 0.4}
    both = {"validation": values, "test": values}
    metrics["bce"]["rules"] = {"own": both, "tuned": both}
    metrics["db"]["rules"] = {"tuned": both}
    own = section(page(metrics), "decisions").split('id="own"')[1]
    rows = re.findall(r"<tr><th[^>]*><span[^>]*>(\w+)</span></th>(.*?)</tr>", own)
    cells = {name: re.findall(r"<td>(.*?)</td>", row) for name, row in rows}
    assert cells == {"bce": ["0.610", "0.700", "0.540", "0.400"]}
    assert 'popovertarget="define-micro_precision"' in own


def test_page_names_the_decision_rule_and_losses_that_fall_back_to_another():
    metrics = {"bce": result(0.4), "focal": result(0.3), "warp": result(0.5)}
    for loss, rule in {"bce": "own", "focal": "own", "warp": "tuned"}.items():
        metrics[loss]["rule"] = rule
    assert "Decision rule: 0.5 (warp: tuned threshold)" in section(page(metrics), "comparison")


def test_page_gives_the_command_of_each_loss(metrics):
    html = section(page(metrics), "comparison")
    for loss in metrics:
        row = re.search(rf'<tr data-loss="{loss}".*?</tr>', html, flags=re.DOTALL).group()
        assert f"kedro run --dataset=cwe --recipe=probe --pipelines={loss}_loss" in row


HOSTILE = "<script>alert(1)</script> & <b>"


def some_cases(**changed) -> dict:
    case = {"id": "7", "text": HOSTILE, "gold": ["tin", "iron"]}
    case["predicted"] = {"bce": ["gold", "tin"], "mask_label": ["tin", "iron"], "mask_element": []}
    facts = {"losses": list(case["predicted"]), "documents": 1234, "differ": 56, "cases": [case]}
    return facts | {"exact": {"bce": 11, "mask_label": 22, "mask_element": 3}} | changed


def test_page_shows_cases_with_gold_labels_and_all_predictions_in_a_row(metrics):
    html = page(metrics, cases=some_cases())
    shown = section(html, "cases")
    row = shown.split("<tbody>")[1].split("</tbody>")[0]
    cells = re.findall(r"<td.*?</td>", row, flags=re.DOTALL)
    assert [re.findall(r"<li(?: class=\"(\w+)\")?>(.*?)</li>", cell) for cell in cells[1:]] == [
        [("", "tin"), ("", "iron")],
        [("wrong", "✗ gold"), ("right", "tin")],
        [("right", "tin"), ("right", "iron")],
        [("none", "none")],
    ]
    heads = re.findall(r"<th [^>]*>(.*?)</th>", shown)
    assert heads == ["document", "gold", "bce", "mask_label", "mask_element"]
    assert "for 56 of 1,234 test documents" in shown
    assert "bce 11, mask_label 22, mask_element 3" in shown
    assert '<a href="#cases">Cases</a>' in html


def test_case_of_an_image_shows_it(metrics):
    cases = some_cases()
    assert "<img" not in section(page(metrics, cases=cases), "cases")
    cases["cases"][0]["thumbnail"] = "data:image/jpeg;base64,AAAA"
    shown = section(page(metrics, cases=cases), "cases")
    assert shown.count('<img class="thumbnail" src="data:image/jpeg;base64,AAAA" alt="') == 1
    assert "<script" not in shown


def test_text_and_labels_of_cases_are_escaped(metrics):
    cases = some_cases()
    everywhere = {loss: [HOSTILE] for loss in cases["losses"]}
    cases["cases"][0] |= {"gold": [HOSTILE], "predicted": everywhere}
    shown = section(page(metrics, cases=cases), "cases")
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;") == 5


def test_any_prediction_is_wrong_where_there_is_no_gold_label(metrics):
    cases = some_cases()
    cases["cases"][0]["gold"] = []
    shown = section(page(metrics, cases=cases), "cases")
    assert shown.count('<li class="wrong">✗') == 4
    assert shown.count('<li class="none">none') == 2


@pytest.mark.parametrize("cases", [None, some_cases(cases=[], differ=0)])
def test_without_cases_there_is_neither_a_table_nor_a_link(metrics, cases):
    assert '#cases"' not in page(metrics, cases=cases)
    assert 'id="cases"' not in page(metrics, cases=cases)


def test_plot_without_data_is_left_out(metrics):
    html = page(metrics)
    assert "Hard and soft loss" not in html
    assert '"hard_and_soft_loss"' not in html


def test_every_plot_has_a_place_on_the_page(metrics):
    html = page({**metrics, **{loss: result(0.3) for loss in SPECIAL}})
    for name, plot in RESULT_PLOTS.items():
        assert html.count(f'<div class="plot" id="{name}">') == 1
        assert plot.title in section(html, "figures")
