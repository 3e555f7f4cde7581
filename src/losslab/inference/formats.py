"""The formats a trained model is exported in."""

from collections.abc import Callable
from pathlib import Path

from losslab.inference.folder import save_model
from losslab.inference.model import TrainedModel


def export_model(model: TrainedModel, folder: Path, form: str, *, replace: bool = False) -> str:
    """Write a model in the format ``form``; a sentence that says what was written, and what reads it."""
    return FORMATS[form](model, folder, replace)


def _losslab(model: TrainedModel, folder: Path, replace: bool) -> str:
    save_model(model, folder, replace=replace)
    return f"{folder}: losslab.load('{folder}').predict(['a text'])"


def _hugging_face(model: TrainedModel, folder: Path, replace: bool) -> str:
    from losslab.inference.hugging_face import save_hugging_face

    own_code = save_hugging_face(model, folder, replace=replace)
    options = ", trust_remote_code=True" if own_code else ""
    return f"{folder}: pipeline('text-classification', '{folder}', top_k=None{options})"


def _onnx(model: TrainedModel, folder: Path, replace: bool) -> str:
    from losslab.inference.onnx import GRAPH, save_onnx

    difference = save_onnx(model, folder, replace=replace)
    return f"{folder / GRAPH}: scores as torch's, to {difference:.1g}"


FORMATS: dict[str, Callable[[TrainedModel, Path, bool], str]] = {
    "losslab": _losslab,
    "huggingface": _hugging_face,
    "onnx": _onnx,
}
"""By the name that ``--format`` takes."""
