import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from tiny_encoder import write_encoder
from trained import LABELS, TEXTS, make_baseline, make_model, small_recipe

import losslab
from losslab.errors import ModelError
from losslab.inference.classifier import Classifier
from losslab.inference.folder import load, save_model, write_manifest


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return write_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save_model(make_model(small_recipe("textcnn")), tmp_path_factory.mktemp("saved") / "m")


@pytest.fixture
def folder(saved, tmp_path):
    """A copy that a test may spoil."""
    return shutil.copytree(saved, tmp_path / "model")


@pytest.mark.parametrize("recipe", ["hybrid", "textcnn", "lstm", "bert"])
def test_a_loaded_model_scores_as_the_saved_one(recipe, encoder, tmp_path):
    backbone = encoder if recipe in ("hybrid", "bert") else None
    model = make_model(small_recipe(recipe, backbone), "zlpr")
    expected = Classifier(model).scores(TEXTS)
    folder = save_model(model, tmp_path / "model")
    assert np.array_equal(losslab.load(folder).scores(TEXTS), expected)
    assert encoder not in "".join(path.read_text() for path in folder.glob("*.json"))


def test_a_baseline_is_loaded_without_a_network(tmp_path):
    model = make_baseline()
    folder = save_model(model, tmp_path / "model")
    assert not (folder / "tokenizer.json").exists()
    assert np.array_equal(load(folder).scores(TEXTS), Classifier(model).scores(TEXTS))


def test_a_model_is_saved_again_as_it_was(saved, tmp_path):
    model = load(saved).model
    again = save_model(model, tmp_path / "again")
    for name in ("weights.safetensors", "labels.json", "decision_rules.json", "config.json"):
        assert (again / name).read_bytes() == (saved / name).read_bytes()


def test_the_card_tells_data_metrics_with_intervals_and_limits(saved):
    card = (saved / "README.md").read_text()
    assert "# bce on cwe (textcnn)" in card
    assert re.search(r"macro-F1 +\| 0\.500 +\| 0\.500 +\| \[0\.250, 0\.750\]", card)
    assert "3 of 3 labels have fewer than 10 training documents" in card
    assert "&lt;b&gt; (2)" in card
    assert "<b>" not in card


@pytest.mark.parametrize("name", ["weights.safetensors", "labels.json", "decision_rules.json"])
def test_a_file_that_does_not_verify_is_refused(folder, name):
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(ModelError, match=f"{name} is not as it was written"):
        load(folder)


def test_a_missing_file_is_named(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json is missing"):
        load(folder)


@pytest.mark.parametrize(
    ("name", "change", "part"),
    [
        ("labels.json", lambda labels: labels[::-1], "labels"),
        ("tokenizer.json", lambda it: it | {"version": "2.0"}, "vocabulary"),
        ("decision_rules.json", lambda it: it | {"fitted_with": {"labels": "x"}}, "labels"),
    ],
)
def test_thresholds_of_other_parts_are_refused_though_files_verify(folder, name, change, part):
    content = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(change(content)))
    write_manifest(folder)
    with pytest.raises(ModelError, match=f"fitted with other {part}"):
        load(folder)


def test_thresholds_of_other_weights_are_refused():
    model = make_model(small_recipe("textcnn"))
    weights = {name: array + 1 for name, array in model.weights.items()}
    with pytest.raises(ModelError, match="fitted with other weights"):
        Classifier(replace(model, weights=weights))


def test_thresholds_of_another_version_are_refused(folder):
    rules = json.loads((folder / "decision_rules.json").read_text())
    rules["fitted_with"]["losslab"] = "9.9.0"
    (folder / "decision_rules.json").write_text(json.dumps(rules))
    write_manifest(folder)
    with pytest.raises(ModelError, match=r"fitted by losslab 9\.9\.0"):
        load(folder)


def test_a_folder_of_another_format_is_refused(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(ModelError, match="has format 99"):
        load(folder)


def test_a_manifest_that_leads_outside_is_refused(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["../x"] = {"sha256": "", "size": 0}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match="outside of the folder"):
        load(folder)


def test_nothing_but_a_model_is_replaced_and_that_only_when_asked(saved, folder, tmp_path):
    model = load(saved).model
    with pytest.raises(ModelError, match="holds a model"):
        save_model(model, folder)
    (folder / "extra").write_text("old")
    save_model(model, folder, replace=True)
    assert not (folder / "extra").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/thesis.txt").write_text("mine")
    with pytest.raises(ModelError, match="is no model folder"):
        save_model(model, tmp_path / "other", replace=True)
    assert (tmp_path / "other/thesis.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "other"]


def test_a_seed_that_was_not_trained_is_named():
    from trained import assemble_seed

    assert assemble_seed(4).facts.seed == 4
    with pytest.raises(ModelError, match="no seed 9: it was trained with 3, 4"):
        assemble_seed(9)


def test_labels_are_kept_whatever_they_hold(saved):
    assert load(saved).labels == tuple(LABELS)
