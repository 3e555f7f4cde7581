"""Safetensors written block by block, and mapped into memory: for arrays that memory should not hold.

The file is what safetensors writes: the length of a header, the header as JSON, the arrays.
"""

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from losslab.features.pixels import ArrayBlocks

DTYPES = {
    "U8": "u1",
    "I8": "i1",
    "U16": "u2",
    "I16": "i2",
    "U32": "u4",
    "I32": "i4",
    "U64": "u8",
    "I64": "i8",
    "F16": "f2",
    "F32": "f4",
    "F64": "f8",
    "BOOL": "?",
}
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}
ALIGNMENT = 8


def write_tensors(path: Path, arrays: "Mapping[str, np.ndarray | ArrayBlocks]") -> None:
    """Write named arrays, those of wide types first, so that each is aligned."""
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    header, end = {}, 0
    for name, array in ordered:
        start, end = end, end + prod(array.shape) * array.dtype.itemsize
        facts = {"dtype": NAMES[array.dtype], "shape": list(array.shape)}
        header[name] = {**facts, "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in ordered:
            for block in [array] if isinstance(array, np.ndarray) else array.make():
                np.ascontiguousarray(block).tofile(file)


def map_tensors(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file; they are read when they are used, and changes stay in memory."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    return {name: _map(path, facts, 8 + length) for name, facts in header.items()}


def _map(path: Path, facts: Mapping[str, Any], first: int) -> np.ndarray:
    shape, (start, _) = facts["shape"], facts["data_offsets"]
    dtype = np.dtype(DTYPES[facts["dtype"]])
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.asarray(np.memmap(path, dtype, "c", first + start, tuple(shape)))
