import json
import re
import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from losslab.losses import LOSSES
from losslab.manifest import Manifest, Provenance, hash_file
from losslab.reporting.paper_tables import (
    RECIPES,
    OurResult,
    _count_best,
    as_json,
    count_documents,
    find_our_results,
    read_paper_tables,
    read_results,
    write_paper_tables,
)


def save(folder, name, version, content, *, commit=None, predictions="p"):
    file = folder / name / version / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    made = Provenance(
        inputs={f"{folder.name}_predictions": predictions}, run={"git_commit": commit}
    )
    Manifest(hash_file(file), file.stat().st_size, made).write(file)


def metrics(value, seeds=1, folds=None, undersample=None):
    return {
        "mean": {"micro_f1": value},
        "seeds": {str(seed): {} for seed in range(seeds)},
        "conditions": {
            "dataset": "reuters",
            "recipe": {"name": "probe"},
            "split": {"folds": folds},
            "undersample": undersample,
        },
        "fingerprint": str(seeds),
    }


CONTENT = {
    "papers": {"balanced": "A paper"},
    "losses": {"balanced": {"BCE": "bce", "DB": "db"}},
    "splits": {"reuters": "the published test set"},
    "tables": [
        {
            "paper": "balanced",
            "table": 2,
            "about": "Reuters",
            "dataset": "reuters",
            "model": "BERT",
            "columns": ["micro_f1", "macro_f1"],
            "rows": {"SVM": [87.6, None], "BCE": [89.14, 47.32], "DB": [90.62, 64.47]},
        }
    ],
}


@pytest.fixture
def reports(tmp_path):
    recipe = tmp_path / "reuters/probe"
    save(recipe / "bce_loss", "metrics.json", "2026-01-01", metrics(0.5))
    save(
        recipe / "bce_loss",
        "metrics.json",
        "2026-01-02",
        metrics(0.8765, seeds=3),
        commit="0123456789abcdef",
    )
    return tmp_path


def test_newest_run_is_found_with_the_commit_it_was_computed_by(reports):
    (key, run) = next(iter(find_our_results(reports).items()))
    assert key == ("reuters", "probe", "bce")
    assert (run.metrics["micro_f1"], run.seeds, run.commit) == (0.8765, 3, "0123456789abcdef")


def test_commit_of_another_command_is_not_taken(reports):
    save(reports / "reuters/probe/bce_loss", "metrics.json", "2026-01-03", metrics(0.9))
    assert next(iter(find_our_results(reports).values())).commit is None


@pytest.mark.parametrize("other", [{"folds": 4}, {"undersample": {"ratio": 100}}])
def test_other_experiments_are_not_taken_for_the_papers(reports, other):
    save(reports / "reuters/probe/bce_loss", "metrics.json", "2026-01-03", metrics(0.1, **other))
    assert next(iter(find_our_results(reports).values())).metrics["micro_f1"] == 0.8765


@pytest.mark.parametrize("folder", ["reuters-part=title/probe", "reuters/probe-max_length=8"])
def test_variants_go_by_their_own_folders(reports, folder):
    save(reports / folder / "bce_loss", "metrics.json", "2026-01-03", metrics(0.1))
    found = find_our_results(reports)
    values = {key: ours.metrics["micro_f1"] for key, ours in found.items()}
    assert values == {("reuters", "probe", "bce"): 0.8765, (*folder.split("/"), "bce"): 0.1}


def table_like(**changes):
    return {**CONTENT, "tables": [{**CONTENT["tables"][0], **changes}]}


def test_results_of_a_variant_stand_beside_the_table_that_names_it(reports):
    save(reports / "reuters-part=title/probe/bce_loss", "metrics.json", "2026-01-03", metrics(0.1))
    text = write_paper_tables(
        table_like(dataset="reuters-part=title"),
        find_our_results(reports),
        {"reuters-part=title": "1 / 2 / 3"},
    )
    assert "| BCE | 89.14 | 10.00 |" in text
    assert "dataset `reuters-part=title`, recipe `probe`" in text
    assert "the published test set; 1 / 2 / 3 documents" in text


def test_part_of_the_documents_without_a_table_has_rows_of_its_own(reports):
    save(reports / "reuters-part=title/probe/bce_loss", "metrics.json", "2026-01-03", metrics(0.1))
    save(reports / "reuters-depth=2/probe/bce_loss", "metrics.json", "2026-01-03", metrics(0.3))
    ours = find_our_results(reports)
    text = write_paper_tables(CONTENT, ours, {"reuters-part=title": "1 / 2 / 3"})
    assert "| BCE | 89.14 | 87.65 |" in text
    assert "| BCE, part=title |  | 10.00 |  |  |" in text
    assert "DB, part=title" not in text
    assert "30.00" not in text
    assert "dataset `reuters-part=title`, recipe `probe`, 1 seed, commit unknown" in text
    assert "1 / 2 / 3 documents" in text
    both = [*CONTENT["tables"], *table_like(dataset="reuters-part=title")["tables"]]
    assert "part=title |" not in write_paper_tables({**CONTENT, "tables": both}, ours)


def test_row_of_another_recipe_has_its_results_beside_those_of_the_nearest(reports):
    save(reports / "reuters/roberta/bce_loss", "metrics.json", "2026-01-03", metrics(0.2))
    losses = {"balanced": {"BCE": "bce", "DB": "roberta/bce"}}
    text = write_paper_tables({**CONTENT, "losses": losses}, find_our_results(reports))
    assert "| BCE | 89.14 | 87.65 |" in text
    assert "| DB | 90.62 | 20.00 |" in text
    assert "recipe `probe` and `roberta`" in text
    assert "They differ" not in text


def test_roberta_has_tables_of_its_own(reports):
    ours = find_our_results(reports)
    assert "Ours:" not in write_paper_tables(table_like(model="RoBERTa"), ours)
    save(reports / "reuters/roberta/bce_loss", "metrics.json", "2026-01-03", metrics(0.2))
    text = write_paper_tables(table_like(model="RoBERTa"), find_our_results(reports))
    assert "| BCE | 89.14 | 20.00 |" in text


ZLPR = [t for t in read_paper_tables()["tables"] if t["paper"] == "zlpr"]
ZLPR_NAMES = read_paper_tables()["losses"]["zlpr"]


def as_ours(tables):
    """The papers' own numbers as if they were results of ours."""
    return {
        (
            table["dataset"],
            {"BERT": "bert", "RoBERTa": "roberta"}[table["model"]],
            ZLPR_NAMES[row],
        ): (OurResult(dict(zip(table["columns"], values, strict=True)), 1, None, "alike"))
        for table in tables
        for row, values in table["rows"].items()
    }


def test_counting_the_papers_own_numbers_gives_its_table():
    """All but what cannot be read in two of the 22 comparisons, and a column that the note is on."""
    first, *others = ZLPR
    counts, told = _count_best(first, ZLPR, ZLPR_NAMES, as_ours(others))
    assert told.startswith("Ours: 20 of the 22 comparisons: CNIPA-Title with recipe `bert`; ")
    for row, theirs in first["rows"].items():
        for column, value in zip(first["columns"], theirs, strict=True):
            if column != "macro_f1_absent_as_one":
                assert 0 <= value - counts[row][column] <= 2, (row, column)
    best = {row: counts[row]["macro_f1_absent_as_one"] for row in counts}
    assert best == {"BCE": 2, "FL": 8, "DL1": 0, "DL2": 2, "ZLPR": 8}
    assert "FL is best in 8, DL2 in 2" in first["note"]


def test_only_comparisons_of_every_loss_count_and_ties_count_for_each():
    first, *others = ZLPR
    ran = as_ours([others[0]])
    assert _count_best(first, ZLPR, ZLPR_NAMES, {}) == ({}, "")
    (best, *_) = {key: each for key, each in ran.items() if key[2] == "zlpr"}
    tied = ran | {(*best[:2], "bce"): ran[best]}
    counts, _ = _count_best(first, ZLPR, ZLPR_NAMES, tied)
    assert counts["BCE"] == counts["ZLPR"]
    assert sum(counts["ZLPR"].values()) > 0
    del tied[best]
    assert _count_best(first, ZLPR, ZLPR_NAMES, tied) == ({}, "")
    other = {key: replace(each, conditions=key[2]) for key, each in ran.items()}
    assert _count_best(first, ZLPR, ZLPR_NAMES, other) == ({}, "")


def test_counts_stand_in_the_table_as_they_are():
    content = read_paper_tables()
    text = write_paper_tables(content, as_ours(ZLPR[1:]))
    assert re.search(r"\| ZLPR \| 16 \| 1[456] \|", text)
    assert write_paper_tables(content, {}).count("| ZLPR | 16 |  |") == 1


def test_f1_by_labels_per_document_comes_from_the_error_analysis(reports):
    bands = [
        {"labels": "1 label", "documents": 5, "micro_f1": 0.9, "macro_f1": 0.4},
        {"labels": "2 labels or more", "documents": 0, "micro_f1": 0.0, "macro_f1": 0.0},
    ]
    place = reports / "reuters/probe/bce_loss"
    save(place, "errors.json", "2026-01-01", {"by_cardinality": bands})
    save(place, "errors.json", "2026-01-03", {"by_cardinality": []}, predictions="others")
    metrics = next(iter(find_our_results(reports).values())).metrics
    assert metrics["1 label/macro_f1"] == 0.4
    assert "2 labels or more/macro_f1" not in metrics
    columns = {column for table in read_paper_tables()["tables"] for column in table["columns"]}
    assert {key for key in metrics if "/" in key} <= columns


def test_losses_of_a_table_that_differ_in_more_are_told(reports):
    alike = write_paper_tables(CONTENT, find_our_results(reports))
    save(reports / "reuters/probe/db_loss", "metrics.json", "2026-01-02", metrics(0.9, seeds=1))
    assert "They differ in more than the loss." in write_paper_tables(
        CONTENT, find_our_results(reports)
    )
    assert "They differ" not in alike


def test_ours_stands_beside_theirs_and_is_empty_where_nothing_ran(reports):
    text = write_paper_tables(
        CONTENT, find_our_results(reports), {"reuters": "6,769 / 1,000 / 3,019"}
    )
    assert "| BCE | 89.14 | 87.65 | 47.32 |  |" in text
    assert "| DB | 90.62 |  | 64.47 |  |" in text
    assert "| SVM | 87.6 |  |  |  |" in text
    assert "recipe `probe`, 3 seeds, commit 0123456789ab; the published test set; 6,769" in text


def test_nothing_is_told_of_ours_where_nothing_ran():
    text = write_paper_tables(CONTENT, {})
    assert "Ours:" not in text
    assert "| BCE | 89.14 |  | 47.32 |  |" in text


def test_documents_are_counted_in_the_newest_table_of_a_corpus(tmp_path):
    old, new = (f"split,instances\ntrain,{n}\nvalidation,20\ntest,30\n" for n in (5, 1000))
    save(tmp_path / "reuters", "corpus_table.csv", "2026-01-01", old)
    save(tmp_path / "reuters", "corpus_table.csv", "2026-01-02", new)
    assert count_documents(tmp_path) == {"reuters": "1,000 / 20 / 30"}


def test_every_row_of_the_papers_has_a_number_per_column_and_a_loss_we_know():
    content = read_paper_tables()
    for table in content["tables"]:
        assert table["paper"] in content["papers"]
        assert (table["dataset"] or "reuters").partition("-")[0] in content["splits"]
        assert {len(values) for values in table["rows"].values()} == {len(table["columns"])}
        names = content["losses"][table["paper"]].values()
        assert {name.rpartition("/")[2] for name in names} <= set(LOSSES)
        assert {name.rpartition("/")[0] for name in names} - {""} <= set(RECIPES["RoBERTa"])


def test_figures_that_other_places_quote_stand_in_the_file():
    tables = {
        (t["paper"], t["table"], t["about"], t["model"]): t for t in read_paper_tables()["tables"]
    }
    reuters = tables["balanced", 2, "Reuters-21578", "BERT"]
    assert reuters["rows"]["DB"][:2] == [90.62, 64.47]
    assert reuters["rows"]["DB"][-2:] == [48.89, 31.39]
    assert tables["kwls", 2, "Yelp", "LSTM"]["rows"]["KWLS"] == [65.68]
    assert tables["zlpr", 13, "Toxic", "BERT"]["rows"]["ZLPR"][0] == 91.51


def test_document_in_the_repository_is_what_the_collected_results_give():
    tool = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "paper_tables.py"))
    assert tool["PAGE"].read_text(encoding="utf-8") == tool["render"]()


def test_collected_results_give_the_same_tables_as_the_runs_themselves(reports):
    spread = {
        **metrics(0.8765, seeds=3),
        "std": {"micro_f1": 0.00314, "macro_f1": None, "unknown": 1.0},
    }
    save(reports / "reuters/probe/db_loss", "metrics.json", "2026-01-03", spread, commit="0" * 40)
    ours, sizes = find_our_results(reports), {"reuters": "1 / 2 / 3"}
    kept = reports / "reuters_probe.json"
    papers = {loss: as_json(result) for (_, _, loss), result in ours.items()}
    facts = {"dataset": "reuters", "recipe": "probe", "documents": sizes["reuters"]}
    kept.write_text(json.dumps({**facts, "papers": papers}))
    text = write_paper_tables(CONTENT, ours, sizes)
    assert "| DB | 90.62 | 87.65 ± 0.31 |" in text
    assert write_paper_tables(CONTENT, *read_results(reports)) == text
    assert "unknown" not in kept.read_text()


def test_tool_writes_the_document_from_the_results_of_a_data_folder(reports):
    tool = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "paper_tables.py"))
    (reports / "08_reporting").mkdir()
    (reports / "reuters").rename(reports / "08_reporting" / "reuters")
    assert "| BCE | 89.14 | 87.65 |" in tool["render"](reports)
