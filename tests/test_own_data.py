"""One's own CSV, with the commands of the README."""

import json
import re

import numpy as np
import pytest
from conftest import newest, read_json, write_csv
from safetensors.numpy import load_file

from losslab.parameters import baselines_for_task, losses_for_task
from losslab.supervision import load_soft_labels

TOPICS = ["printer", "network", "login", "screen"]
COLUMNS = "corpus.file=tickets.csv,corpus.text=body,corpus.labels=tags"
SHORT = "recipes.probe.model.max_length=16,recipes.probe.training.epochs=2"
FOLDER = "own-tickets-text=body-labels=tags"


def make_rows(several: bool = True) -> list[list[str]]:
    """Twenty made-up tickets, with several tags or one each."""
    rows = [["subject", "body", "tags"]]
    for number in range(20):
        tags = [name for bit, name in enumerate(TOPICS) if (number + 1) >> bit & 1] or TOPICS[:1]
        tags = tags if several else tags[:1]
        rows.append([f"Case {number}", f"The {' and the '.join(tags)} broke.", ",".join(tags)])
    return rows


@pytest.fixture
def tickets(project):
    write_csv(project / "tickets.csv", make_rows())


def with_unseen_label(rows: list[list[str]]) -> list[list[str]]:
    """A split is given, and the tag "cable" occurs in a test ticket only."""
    splits = ["split", *(["train", "train", "validation", "test"] * 5)]
    last = ["Case 20", "The cable broke.", "cable", "test"]
    return [*([*row, split] for row, split in zip(rows, splits, strict=True)), last]


def told_losses(printed: str) -> list[str]:
    return sorted(re.findall(r"^\| (\w+)(?: \*)? +\| \d\.\d{3}", printed, flags=re.MULTILINE))


@pytest.mark.slow
def test_a_small_csv_is_trained_on_with_one_command(project, invoke, tickets, caplog):
    done = invoke("run", "--dataset=own", "--pipelines=bce_loss", f"--params={COLUMNS},{SHORT}")
    assert done.exit_code == 0, done.output
    assert "own: 20 documents, 4 labels, 1.9 per document, rarest: screen (8)" in caplog.messages
    assert read_json(project / f"data/03_primary/{FOLDER}/label_space.json") == sorted(TOPICS)
    (recipe,) = (project / f"data/08_reporting/{FOLDER}").iterdir()
    assert read_json(recipe / "bce_loss/metrics.json")["conditions"]["dataset"] == "own"


@pytest.mark.long
def test_a_model_of_words_trains_in_two_processes_with_one_command(project, invoke, tickets):
    short = "recipes.textcnn.training.epochs=2,recipes.textcnn.training.processes=2"
    chosen = ("--dataset=own", "--recipe=textcnn", "--losses=bce")
    done = invoke("run", *chosen, "--pipelines=bce_loss", f"--params={COLUMNS},{short}")
    assert done.exit_code == 0, done.output
    (stored,) = (project / f"data/04_feature/{FOLDER}/textcnn").rglob(
        "features.safetensors/*/features.*"
    )
    assert load_file(stored)["ids"].dtype == np.uint16
    metrics = read_json(project / f"data/08_reporting/{FOLDER}/textcnn/bce_loss/metrics.json")
    assert metrics["conditions"]["recipe"]["training"]["processes"] == 2
    assert metrics["seeds"]["1"]["epochs"] == 2


@pytest.mark.slow
def test_losses_for_one_label_are_compared_and_a_label_without_training_documents_stops_none(
    project, invoke
):
    write_csv(project / "tickets.csv", with_unseen_label(make_rows(several=False)))
    params = f"task=single,{COLUMNS},corpus.split=split,{SHORT},report.resamples=100"
    done = invoke("run", "--dataset=own", f"--params={params}")
    assert done.exit_code == 0, done.output
    expected = [*losses_for_task("single"), *baselines_for_task("single")]
    assert told_losses(done.stdout) == sorted(expected)
    (models,) = (project / "data/06_models").glob("*/probe*")
    logits = load_file(newest(models / "ce_loss/training_logits.safetensors"))
    soft = load_soft_labels(newest(models / "ls_distill_loss/soft_targets.safetensors"))
    expected = np.exp(logits["logits"]) / np.exp(logits["logits"]).sum(axis=1, keepdims=True)
    assert np.allclose(soft(logits["rows"]), expected, atol=1e-6)  # ce is the teacher
    (keywords,) = (project / "data/05_model_input").glob("*/kwls_loss/soft_targets.safetensors")
    labels = read_json(next((project / "data/03_primary").glob("*/label_space.json")))
    relevance = load_soft_labels(newest(keywords)).relevance(logits["rows"])
    assert (relevance[:, labels.index("cable")] == 0).all()
    assert (relevance[:, labels.index("printer")] > 0).any()


@pytest.mark.slow
def test_label_without_training_documents_stops_no_multi_label_loss(project, invoke, caplog):
    write_csv(project / "tickets.csv", with_unseen_label(make_rows()))
    params = f"{COLUMNS},corpus.split=split,{SHORT},report.resamples=100"
    chosen = "--losses=bce,db,kwls,ls_tfidf,soft_zlpr,mask_element"
    done = invoke("run", "--dataset=own", chosen, f"--params={params}")
    assert done.exit_code == 0, done.output
    expected = [*chosen.partition("=")[2].split(","), *baselines_for_task("multi")]
    assert told_losses(done.stdout) == sorted(expected)
    assert "1 labels without words in training documents: relevance 0" in caplog.messages


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("seed=1", "parameter 'corpus.file' is not set"),
        ("corpus.file=none.csv", "data/01_raw/own nor in"),
        ("corpus.file=tickets.csv", "the columns are subject, body, tags"),
        ("corpus.fiel=tickets.csv", "did you mean 'corpus.file'?"),
    ],
)
def test_what_is_missing_is_told_in_one_line(invoke, tickets, params, message):
    done = invoke("run", "--dataset=own", "--pipelines=data", f"--params={params}")
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)
    assert message in done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("params", "labels"),
    [
        ("corpus.labels=*", ["x", "y"]),
        ("corpus.labels=x|y", ["x", "y"]),
        ("corpus.labels=tags,corpus.separator=|", ["p", "q"]),
        ("corpus.labels=tags,corpus.separator=bar", ["p", "q"]),
    ],
)
def test_characters_that_mean_something_to_yaml_are_taken_as_they_are(
    project, invoke, params, labels
):
    rows = [[f"Case {n}", "p|q" if n % 2 else "q", str(n % 2), "1"] for n in range(20)]
    write_csv(project / "flags.csv", [["text", "tags", "x", "y"], *rows])
    words = ("--dataset=own", "--pipelines=data", "--to-outputs=label_space")
    done = invoke("run", *words, f"--params=corpus.file=flags.csv,{params}")
    assert done.exit_code == 0, done.output
    (folder,) = (project / "data/03_primary").iterdir()
    assert read_json(folder / "label_space.json") == labels


def test_settings_of_ones_own_data_are_a_file_of_datasets(project, invoke, tickets):
    (project / "conf/datasets/support.yml").write_text(
        "reader: csv\ncorpus: {file: tickets.csv, text: [subject, body], labels: tags}\n"
    )
    done = invoke("run", "--dataset=support", "--pipelines=data")
    assert done.exit_code == 0, done.output
    (notes,) = (project / "data/02_intermediate").glob(
        "support/corpus_notes.json/*/corpus_notes.json"
    )
    assert json.loads(notes.read_text())["documents"] == 20
