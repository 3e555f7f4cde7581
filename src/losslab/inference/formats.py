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


FORMATS: dict[str, Callable[[TrainedModel, Path, bool], str]] = {"losslab": _losslab}
"""By the name that ``--format`` takes."""
