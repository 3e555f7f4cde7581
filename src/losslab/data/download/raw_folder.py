"""What lies in the folder of a dataset's raw files, and what to do where nothing does."""

import json
from pathlib import Path

from losslab.data.download.sources import SOURCES, Source


def is_there(folder: Path) -> bool:
    """Whether a dataset's folder has anything in it."""
    return folder.is_dir() and any(folder.iterdir())


def is_sample(folder: Path) -> bool:
    """Whether what lies there was fetched as a sample."""
    try:
        return is_there(folder) and bool(json.loads(origin_file(folder).read_text())["sample"])
    except (OSError, ValueError, KeyError):
        return False


def advice(dataset: str, folder: Path) -> str:
    """What to do to get a dataset.

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
    """Where it is written down from where the files of a folder were taken."""
    return folder.with_name(f"{folder.name}.origin.json")


def overview(raw: Path) -> list[dict[str, str]]:
    """A row per dataset: its name, whether it is there, how to get it, its licence, what it is."""
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
    return "yes" if source.ready or is_there(folder) else "no"
