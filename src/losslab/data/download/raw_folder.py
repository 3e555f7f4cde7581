"""State of a dataset's raw folder, and how to fill it."""

import json
from pathlib import Path

from losslab.data.download.sources import SOURCES, Source


def has_files(folder: Path) -> bool:
    """Whether the folder exists and is not empty."""
    return folder.is_dir() and any(folder.iterdir())


def is_sample(folder: Path) -> bool:
    """Whether its files were fetched as a sample."""
    try:
        return has_files(folder) and bool(json.loads(origin_file(folder).read_text())["sample"])
    except (OSError, ValueError, KeyError):
        return False


def advice(dataset: str, folder: Path) -> str:
    """How to get a dataset: a command, or manual steps.

    >>> advice("reuters", Path("data/01_raw/reuters"))
    'kedro fetch reuters'
    """
    source = SOURCES[dataset]
    if source.way != "by hand":
        return f"kedro fetch {dataset}"
    steps = "".join(
        f"\n  {number}. {step.format(folder=folder)}" for number, step in enumerate(source.steps, 1)
    )
    return f"it has to be fetched by hand (licence: {source.licence}; more in docs/data.md):{steps}"


def origin_file(folder: Path) -> Path:
    """The JSON file with the origin of a raw folder."""
    return folder.with_name(f"{folder.name}.origin.json")


def overview(raw: Path) -> list[dict[str, str]]:
    """One row per dataset: name, availability, how to get it, licence, description."""
    return [
        {
            "dataset": name,
            "there": _state(source, raw / name),
            "how": "kedro fetch" if source.way == "download" else source.ready or source.way,
            "licence": source.licence,
            "about": source.about,
        }
        for name, source in SOURCES.items()
    ]


def _state(source: Source, folder: Path) -> str:
    if is_sample(folder):
        return "sample"
    return "yes" if source.ready or has_files(folder) else "no"
