"""One's own CSV, with the command of the README."""

import csv
import json
import re

import numpy as np
import pytest
from safetensors.numpy import load_file

from losslab.parameters import fitting

TOPICS = ["printer", "network", "login", "screen"]


@pytest.fixture
def tickets(project):
    """Twenty made-up rows, in the project's folder."""
    rows = [["subject", "body", "tags"]]
    for number in range(20):
        tags = [name for bit, name in enumerate(TOPICS) if (number + 1) >> bit & 1] or TOPICS[:1]
        rows.append([f"Case {number}", f"The {' and the '.join(tags)} broke.", ",".join(tags)])
    with (project / "tickets.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return "tickets.csv"


SHORT = "recipes.probe.max_length=16,recipes.probe.training.epochs=2"


def test_a_small_csv_is_trained_on_with_one_command(project, kedro, tickets):
    columns = f"corpus.file={tickets},corpus.text=body,corpus.labels=tags"
    done = kedro("run", "--env=own", "--pipelines=bce_loss", f"--params={columns},{SHORT}")
    assert done.returncode == 0, done.stderr
    assert "own: 20 documents" in done.stderr
    (metrics,) = (project / "data/08_reporting/own/probe/bce_loss/metrics.json").rglob("*.json")
    assert json.loads(metrics.read_text())
    (labels,) = (project / "data/03_primary/own/label_space.json").rglob("*.json")
    assert json.loads(labels.read_text()) == sorted(TOPICS)


def test_a_model_of_words_trains_in_two_processes_with_one_command(project, kedro, tickets):
    columns = f"corpus.file={tickets},corpus.text=body,corpus.labels=tags"
    textcnn = (
        "recipe=textcnn,recipes.textcnn.training.epochs=2,recipes.textcnn.training.processes=2"
    )
    done = kedro("run", "--env=own", "--pipelines=bce_loss", f"--params={columns},{textcnn}")
    assert done.returncode == 0, done.stderr
    (stored,) = (project / "data/04_feature/own/textcnn").rglob("features.safetensors/*/*")
    assert load_file(stored)["ids"].dtype == np.uint16
    (found,) = (project / "data/08_reporting/own/textcnn/bce_loss/metrics.json").rglob("*.json")
    metrics = json.loads(found.read_text())
    assert metrics["conditions"]["recipe_settings"]["training"]["processes"] == 2
    assert metrics["seeds"]["1"]["epochs"] == 2


def test_losses_for_one_label_are_compared_with_one_command(project, kedro, tickets):
    rows = list(csv.reader((project / tickets).open(encoding="utf-8")))
    first = [[subject, body, tags.split(",")[0]] for subject, body, tags in rows]
    with (project / tickets).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(first)
    columns = f"corpus.file={tickets},corpus.text=body,corpus.labels=tags"
    done = kedro("run", "--env=own", f"--params=task=single,{columns},{SHORT},report.resamples=200")
    assert done.returncode == 0, done.stderr
    told = re.findall(r"^\| (\w+) +\| \d\.\d{3}", done.stdout, flags=re.MULTILINE)
    assert sorted(told) == sorted(fitting("single"))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("seeds=1", "parameter 'corpus.file' is not set"),
        ("corpus.file=none.csv", "data/01_raw/own nor in"),
        ("corpus.file=tickets.csv", "the columns are subject, body, tags"),
        ("corpus.fiel=tickets.csv", "did you mean 'corpus.file'?"),
    ],
)
def test_what_is_missing_is_told_in_one_line(project, kedro, tickets, params, message):
    done = kedro("run", "--env=own", "--pipelines=prepare", f"--params={params}")
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
