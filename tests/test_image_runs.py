"""Posters and one's own images, from files to the report page."""

import re

import numpy as np
import pytest
from conftest import newest, read_json
from image_files import write_posters
from safetensors.numpy import load_file

SHORT = "recipes.cnn.training.epochs=6,report.resamples=100"
CHOSEN = ("--losses=bce,sigmoid_f1", "--seeds=1", "--workers=1")


@pytest.mark.slow
def test_posters_are_trained_on_and_shown_on_the_page(project, invoke, caplog):
    folder = write_posters(project / "data/01_raw/movie_posters")
    (folder / "SampleMoviePosters/39.jpg").write_bytes(b"")
    allowed = "max_rejected=0.05"
    run = ("run", "--dataset=movie_posters", "--recipe=cnn", *CHOSEN)
    done = invoke(*run, f"--params={SHORT},{allowed}")
    assert done.exit_code == 0, done.output
    notes = read_json(project / "data/02_intermediate/movie_posters/corpus_notes.json")
    assert notes["rejected"] == {"image file is empty": 1}
    (features,) = (project / "data/04_feature/movie_posters").glob(
        "cnn*/features.safetensors/*/features.safetensors"
    )
    pixels = load_file(features)["pixels"]
    assert (pixels.shape, pixels.dtype) == ((39, 48, 32, 3), np.uint8)
    (report,) = (project / "data/08_reporting/movie_posters").glob("cnn*")
    cases = read_json(report / "cases.json")
    html = newest(report / "report.html").read_text(encoding="utf-8")
    assert (
        0 < len(cases["cases"]) == html.count('<img class="thumbnail" src="data:image/jpeg') <= 10
    )
    caplog.clear()
    again = invoke(*run, f"--params={SHORT},{allowed}")
    assert again.exit_code == 0, again.output
    assert "features: current" in caplog.messages


def test_mistakes_are_told_before_the_first_node_in_one_line(project, invoke):
    write_posters(project / "data/01_raw/movie_posters", 3)
    told = {
        ("--recipe=probe",): "recipe 'probe' does not read images",
        ("--losses=kwls",): "kwls: learns from words",
        ("--pipelines=kwls_loss",): "kwls_loss reads words, and the documents are images",
        ("--pipelines=svm_baseline",): "svm_baseline reads words",
    }
    for words, message in told.items():
        done = invoke("run", "--dataset=movie_posters", *words)
        assert done.exit_code == 1
        assert re.search(f"^Error: .*{message}", done.output, re.MULTILINE), done.output
        assert "Traceback" not in done.output
    assert not (project / "data/02_intermediate").exists()
