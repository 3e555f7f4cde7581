"""A model folder: a trained model that describes itself, and is verified when it is loaded.

- ``config.json``: what the model is (``ModelFacts``)
- ``weights.safetensors``, ``labels.json``
- ``tokenizer.json`` or, of a baseline, ``tfidf.json``; of a hybrid both
- ``decision_rules.json``: thresholds of every rule, and hashes of what they were fitted with
- ``encoder/``: architecture of the encoder; with weights where they are frozen and no package has them
- ``record.json``, ``README.md``: metrics, corpus and provenance; the model card made of them
- ``manifest.json``: sha256 of every file

None of the files can hold code.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from losslab import __version__
from losslab.errors import ModelError
from losslab.inference.card import write_card
from losslab.inference.classifier import Classifier
from losslab.inference.model import FORMAT, ModelFacts, TrainedModel, refuse_other_parts
from losslab.manifest import MANIFEST, hash_file
from losslab.parameters import EncoderSettings, HybridSettings, TransformerSettings, frozen_encoder
from losslab.temporary import part_of, sync_tree

CONFIG, WEIGHTS, LABELS = "config.json", "weights.safetensors", "labels.json"
RULES, RECORD, CARD = "decision_rules.json", "record.json", "README.md"
TOKENIZER, TFIDF, ENCODER = "tokenizer.json", "tfidf.json", "encoder"
PACKAGED = "minilm"
"""The backbone whose weights a package has, verified by their sha256."""


def load(folder: str | Path) -> Classifier:
    """The classifier of a model folder, every file verified.

    >>> load("nowhere")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    losslab.errors.ModelError: nowhere is no model folder: it has no manifest.json; ...
    """
    return Classifier(load_model(Path(folder)))


def save_model(model: TrainedModel, folder: Path, *, replace: bool = False) -> Path:
    """Write a model folder, atomically.

    Args:
        replace: a model folder that is there is replaced; anything else never is.
    """
    refuse_occupied(folder, replace=replace)
    with replacing(folder) as part:
        _write_files(model, part)
        write_manifest(part)
    return folder


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A folder to write to that takes the place of ``folder`` when the block has ended."""
    part = part_of(folder)
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        yield part
        _put_in_place(part, folder)
    except OSError as error:
        raise ModelError(f"{folder} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def refuse_occupied(folder: Path, *, replace: bool) -> None:
    """Raise ModelError at a folder that holds something, unless it is a model that may be replaced."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / MANIFEST).is_file():
        raise ModelError(f"{folder} exists and is no model folder: choose another one")
    if not replace:
        raise ModelError(f"{folder} holds a model: choose another folder, or give --force")


def _put_in_place(part: Path, folder: Path) -> None:
    """Rename a finished folder; what stood there before is removed afterwards."""
    sync_tree(part)
    before = part.with_name(f"{part.name}.before")
    if folder.exists():
        folder.rename(before)
    part.rename(folder)
    shutil.rmtree(before, ignore_errors=True)


def _write_files(model: TrainedModel, folder: Path) -> None:
    contents = {
        CONFIG: _portable(model.facts).model_dump(mode="json"),
        LABELS: list(model.labels),
        RULES: dict(model.rules),
        RECORD: dict(model.record),
        **_vocabulary_files(model),
    }
    for name, content in contents.items():
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (folder / name).write_text(text, encoding="utf-8")
    save_file(dict(model.weights), folder / WEIGHTS)
    _write_encoder(model, folder / ENCODER)
    (folder / CARD).write_text(write_card(model), encoding="utf-8")


def _portable(facts: ModelFacts) -> ModelFacts:
    """Facts without the path of an encoder's folder, which the model folder has a copy of."""
    settings = facts.recipe and facts.recipe.model
    if facts.recipe is None or not isinstance(settings, EncoderSettings):
        return facts
    return _with_backbone(facts, ENCODER) if Path(settings.backbone).is_dir() else facts


def _with_backbone(facts: ModelFacts, backbone: str) -> ModelFacts:
    """The facts of a model with another name of its encoder."""
    recipe = facts.recipe
    if recipe is None:
        return facts
    settings = recipe.model.model_copy(update={"backbone": backbone})
    return facts.model_copy(update={"recipe": recipe.model_copy(update={"model": settings})})


def _vocabulary_files(model: TrainedModel) -> dict[str, Any]:
    if model.is_baseline:
        return {TFIDF: model.vocabulary}
    if model.facts.recipe and isinstance(model.facts.recipe.model, HybridSettings):
        return {TOKENIZER: model.vocabulary["tokenizer"], TFIDF: model.vocabulary["vocabulary"]}
    return {TOKENIZER: model.vocabulary}


def _write_encoder(model: TrainedModel, folder: Path) -> None:
    """The encoder's architecture; frozen weights too, where no package has them."""
    settings = model.facts.recipe and model.facts.recipe.model
    if not isinstance(settings, EncoderSettings):
        return
    from losslab.features.encoder import load_encoder

    if frozen_encoder(settings) is None:
        load_encoder(settings.backbone, pretrained=False).config.save_pretrained(folder)
    elif settings.backbone != PACKAGED:
        load_encoder(settings.backbone).save_pretrained(folder)


def write_manifest(folder: Path) -> None:
    """The sha256 and size of every file below a folder."""
    files = {
        path.relative_to(folder).as_posix(): {
            "sha256": hash_file(path),
            "size": path.stat().st_size,
        }
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }
    facts = {"format": FORMAT, "losslab": __version__, "files": files}
    (folder / MANIFEST).write_text(json.dumps(facts, indent=1), encoding="utf-8")


def load_model(folder: Path) -> TrainedModel:
    """The model of a folder; raise ModelError where a file does not verify or does not fit."""
    verify(folder)
    facts = _read_facts(folder)
    try:
        model = TrainedModel(
            facts,
            load_file(folder / WEIGHTS),
            _read_vocabulary(folder, facts),
            tuple(_read_json(folder, LABELS)),
            _read_json(folder, RULES),
            _read_json(folder, RECORD),
        )
        refuse_other_parts(model, str(folder))
    except (SafetensorError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{folder} is no complete model: {error!r}") from error
    return model


def verify(folder: Path) -> None:
    """Raise ModelError unless every file of the manifest is there as it was written."""
    manifest = _read_manifest(folder)
    for name, facts in manifest.items():
        path = folder / name
        if not _is_below(name):
            raise ModelError(f"{folder / MANIFEST} names {name}, which is outside of the folder")
        if not path.is_file():
            raise ModelError(f"{path} is missing: copy the folder again")
        if (path.stat().st_size, hash_file(path)) != (facts["size"], facts["sha256"]):
            raise ModelError(f"{path} is not as it was written (sha256): copy the folder again")
    for name in (CONFIG, LABELS, RULES, RECORD, WEIGHTS):
        if name not in manifest:
            raise ModelError(f"{folder / MANIFEST} does not name {name}: export the model again")


def _is_below(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _read_manifest(folder: Path) -> Mapping[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        raise ModelError(
            f"{folder} is no model folder: it has no {MANIFEST}; kedro export makes one"
        )
    facts = _read_json(folder, MANIFEST)
    if not isinstance(facts, dict) or not isinstance(facts.get("files"), dict):
        raise ModelError(f"{path} is no manifest of a model: export the model again")
    if facts.get("format") != FORMAT:
        raise ModelError(
            f"{folder} has format {facts.get('format')} (losslab {facts.get('losslab')}), losslab "
            f"{__version__} reads format {FORMAT}: export the model again, or install that version"
        )
    files: Mapping[str, Any] = facts["files"]
    return files


def _read_json(folder: Path, name: str) -> Any:
    try:
        return json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder / name} cannot be read: {error}") from error


def _read_facts(folder: Path) -> ModelFacts:
    try:
        facts = ModelFacts.model_validate(_read_json(folder, CONFIG))
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(str(part) for part in fault["loc"])
        raise ModelError(f"{folder / CONFIG}: {name}: {fault['msg']}") from error
    settings = facts.recipe and facts.recipe.model
    if facts.recipe is None or not isinstance(settings, EncoderSettings):
        return facts
    if not (folder / ENCODER).is_dir():
        if isinstance(settings, TransformerSettings) or settings.backbone != PACKAGED:
            raise ModelError(f"{folder / ENCODER} is missing: export the model again")
        return facts
    return _with_backbone(facts, str(folder / ENCODER))


def _read_vocabulary(folder: Path, facts: ModelFacts) -> Any:
    if facts.recipe is None:
        return _read_json(folder, TFIDF)
    tokenizer = _read_json(folder, TOKENIZER)
    if isinstance(facts.recipe.model, HybridSettings):
        return {"tokenizer": tokenizer, "vocabulary": _read_json(folder, TFIDF)}
    return tokenizer
