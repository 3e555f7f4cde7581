import json

import mlflow.pyfunc
import pytest
from mlflow.exceptions import MlflowException
from mlflow.pyfunc.scoring_server import invocations
from trained import TEXTS, make_model, small_recipe

from losslab.inference.classifier import Classifier
from losslab.inference.mlflow_model import save_mlflow_model

JSON = "application/json"


@pytest.fixture(scope="module")
def model():
    return make_model(small_recipe("textcnn"))


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow") / "model"
    save_mlflow_model(model, folder)
    return folder


@pytest.fixture(scope="module")
def served(folder):
    return mlflow.pyfunc.load_model(str(folder))


def ask(served, body):
    """The answer of ``mlflow models serve`` to a request."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return invocations(data, JSON, served, served.metadata.get_input_schema())


def test_a_served_model_answers_one_text_and_many(model, served):
    expected = Classifier(model).predict(TEXTS, rule="top_k", top=3)
    answer = ask(served, {"inputs": {"text": TEXTS}, "params": {"rule": "top_k"}})
    rows = json.loads(answer.response)["predictions"]
    assert [row["labels"] for row in rows] == [list(each.labels) for each in expected]
    assert [row["probabilities"] for row in rows] == [
        pytest.approx(dict(each.scores)) for each in expected
    ]
    one = ask(served, {"dataframe_records": [{"text": TEXTS[0]}], "params": {"rule": "top_k"}})
    assert json.loads(one.response)["predictions"][0]["labels"] == rows[0]["labels"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "valid JSON"),
        (b"\x00\xff", "valid JSON"),
        ({"inputs": {"text": [5]}}, "text 0: expected a string, got int"),
        ({"inputs": {"text": ["a", None]}}, "text 1: expected a string"),
        ({"inputs": {"words": ["a"]}}, "missing inputs"),
        ({"inputs": {"text": ["a\0b"]}}, "text 0: NUL byte"),
        ({"inputs": {"text": ["a\ud800b"]}}, "text 0: wrong encoding"),
        ({"inputs": {"text": ["a" * 1_000_000]}}, "text 0 has 1,000,000 characters"),
        ({"inputs": {"text": ["a"]}, "params": {"rule": "tunde"}}, "did you mean 'tuned'"),
    ],
)
def test_a_bad_request_is_told_what_is_wrong_with_it(served, body, reason):
    with pytest.raises(MlflowException, match=reason) as refused:
        ask(served, body)
    assert 400 <= refused.value.get_http_status_code() < 500


def test_nothing_is_pickled_and_requirements_are_pinned(folder):
    names = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert names <= {".json", ".yaml", ".safetensors", ".md", ".txt", ""}
    requirements = (folder / "requirements.txt").read_text().split()
    assert all("==" in each for each in requirements)
    assert any(each.startswith("losslab[lab]==") for each in requirements)


def test_signature_and_example_are_there(folder, served):
    assert served.metadata.get_input_schema().input_names() == ["text"]
    assert {each.name for each in served.metadata.signature.params.params} == {"rule", "top"}
    example = json.loads((folder / "input_example.json").read_text())
    assert example["inputs"] == {"columns": ["text"], "data": [["a text"]]}
