"""Images of cases as data URIs: the page needs no other file."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from losslab.data.images import ImageFault, encode_thumbnail

HEIGHT = 96  # pixels


def add_thumbnails(
    cases: Sequence[Mapping[str, Any]], documents: pd.DataFrame, folder: Path
) -> list[dict[str, Any]]:
    """``cases`` with a ``thumbnail`` each, a small JPEG; none of an image that is gone.

    Args:
        documents: with ``id`` and ``image``, a path from ``folder``.
    """
    paths = dict(zip(documents["id"].astype(str), documents["image"], strict=True))
    return [{**case, "thumbnail": _data_uri(folder / paths[case["id"]])} for case in cases]


def _data_uri(file: Path) -> str | None:
    try:
        return f"data:image/jpeg;base64,{b64encode(encode_thumbnail(file, HEIGHT)).decode()}"
    except ImageFault:
        return None
