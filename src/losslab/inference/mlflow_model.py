"""A trained model as MLflow's pyfunc: a model folder, and this module to load it. No pickle."""

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from losslab import __version__
from losslab.data.readers.collector import text_fault
from losslab.errors import ModelError
from losslab.inference.classifier import Classifier, Prediction
from losslab.inference.folder import load, save_model
from losslab.inference.model import TrainedModel
from losslab.temporary import scratch_folder

MAX_CHARACTERS = 200_000
"""Of a text that is served; a longer one is hardly a text, and would hold up others."""
MAX_TEXTS = 10_000
"""Of one request."""
TOP = 3
"""Labels whose probability is told though they are not predicted."""
REQUIRED = (
    *("mlflow", "torch", "transformers", "tokenizers", "safetensors"),
    *("numpy", "scipy", "scikit-learn", "pandas", "pydantic"),
)
"""Packages that are pinned beside losslab itself."""


def save_mlflow_model(model: TrainedModel, folder: Path) -> None:
    """Write a model as MLflow keeps it: signature, input example, pinned requirements, thresholds."""
    import mlflow.pyfunc

    with scratch_folder() as scratch:
        data = save_model(model, Path(scratch) / "model")
        mlflow.pyfunc.save_model(
            path=folder,
            loader_module=__name__,
            data_path=str(data),
            signature=_signature(model),
            input_example=(pd.DataFrame({"text": ["a text"]}), {"rule": model.rules["primary"]}),
            pip_requirements=requirements(),
        )


def _signature(model: TrainedModel) -> Any:
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
    from mlflow.types.schema import AnyType, Array, Map

    anything: Callable[[], Any] = AnyType
    answer = [
        ColSpec(Array(DataType.string), "labels"),
        ColSpec(Map(DataType.double), "probabilities"),
        ColSpec(DataType.string, "rule"),
    ]
    rule = ParamSpec("rule", DataType.string, default=model.rules["primary"])
    return ModelSignature(
        inputs=Schema([ColSpec(anything(), "text")]),  # a string would make "None" of null
        outputs=Schema([*answer]),
        params=ParamSchema([rule, ParamSpec("top", DataType.long, default=TOP)]),
    )


def requirements() -> list[str]:
    """losslab and what it needs to label texts, pinned to what is installed."""
    return [f"losslab[lab]=={__version__}", *filter(None, map(_pin, REQUIRED))]


def _pin(package: str) -> str | None:
    try:
        return f"{package}=={version(package)}"
    except PackageNotFoundError:
        return None


def _load_pyfunc(path: str) -> "LabelService":
    """What MLflow calls with the path of the model folder."""
    return LabelService(load(path))


class LabelService:
    """Answers requests: a table with the column ``text`` in, labels and probabilities out."""

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier

    def predict(self, frame: pd.DataFrame, params: Mapping[str, Any] | None = None) -> Any:
        """Labels, probabilities and the rule of each text; a request that cannot be answered is a
        fault of the client, who is told what it is."""
        from mlflow.exceptions import MlflowException

        given = params or {}
        try:
            texts = require_texts(flatten_texts(frame["text"]))
            top = max(0, int(given.get("top", TOP)))
            predictions = self.classifier.predict(texts, rule=given.get("rule"), top=top)
        except (ModelError, KeyError) as error:
            raise MlflowException.invalid_parameter_value(str(error)) from error
        return pd.DataFrame([_answer(each) for each in predictions])


def _answer(prediction: Prediction) -> dict[str, Any]:
    return {
        "labels": list(prediction.labels),
        "probabilities": dict(prediction.scores),
        "rule": prediction.rule,
    }


def flatten_texts(column: Any) -> list[Any]:
    """The texts of a request: MLflow hands them over one by one, or a list of them as one.

    >>> flatten_texts("a"), flatten_texts(["a", "b"]), flatten_texts([["a", "b"]])
    (['a'], ['a', 'b'], ['a', 'b'])
    """
    values = [column] if isinstance(column, str) else list(column)
    return [text for each in values for text in (each if isinstance(each, list) else [each])]


def require_texts(texts: Sequence[Any]) -> list[str]:
    """Texts that can be served; raise ModelError at the first that cannot."""
    if len(texts) > MAX_TEXTS:
        raise ModelError(f"{len(texts):,} texts in a request: send {MAX_TEXTS:,} at most")
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise ModelError(f"text {index}: expected a string, got {type(text).__name__}")
        if len(text) > MAX_CHARACTERS:
            raise ModelError(
                f"text {index} has {len(text):,} characters: send {MAX_CHARACTERS:,} at most"
            )
        fault = text_fault(text)
        if fault:
            raise ModelError(f"text {index}: {fault}")
    return list(texts)
