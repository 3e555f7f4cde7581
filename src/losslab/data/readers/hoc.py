"""Hallmarks of Cancer, and the chemical exposure corpus in the same layout.

``text/ID.txt`` has one sentence per line; ``labels/ID.txt`` a ``<`` before the labels of each
sentence, joined by ``AND``. ``--`` separates levels, also after an inner node; blank or NULL: no
label.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import (
    Collector,
    Document,
    Row,
    RowFault,
    SourceLocation,
    text_fault,
)
from losslab.data.readers.raw_text import glob_first, text_lines

Sentences = list[tuple[str, list[str]]]


def read_hoc(
    folder: Path,
    *,
    unit: Literal["abstract", "sentence"] = "abstract",
    labels: Literal["all", "top"] = "all",
) -> Corpus:
    """Read every abstract, as one document or as one document per sentence.

    ``labels``: ``all`` (Hallmarks of Cancer: 36), or ``top``, their first level (10).
    """
    collector = Collector(folder)
    for path in glob_first(folder, "text/*.txt"):
        annotations = folder / "labels" / path.name
        try:
            sentences = _sentences(path, annotations, top=labels == "top")
        except RowFault as fault:
            collector.reject(SourceLocation(path, 1), str(fault))
        else:
            rows = _abstract(path, sentences) if unit == "abstract" else _each(path, sentences)
            collector.gather(rows, lambda _, document: document)
    return collector.corpus()


def parse_labels(annotation: str, *, top: bool) -> list[str]:
    """The labels of one sentence.

    >>> parse_labels(" Inducing angiogenesis-- ANDResisting cell death--Apoptosis", top=False)
    ['Inducing angiogenesis', 'Resisting cell death--Apoptosis']
    """
    labels = [name.strip().removesuffix("--").strip() for name in annotation.split(" AND")]
    return [name.split("--")[0] if top else name for name in labels if name not in ("", "NULL")]


def _sentences(path: Path, annotations: Path, *, top: bool) -> Sentences:
    if not annotations.is_file():
        raise RowFault(f"no labels: expected labels/{annotations.name}")
    texts = [line.strip() for line in _whole(path).split("\n") if line.strip()]
    before, *labels = _whole(annotations).split("<")
    if before.strip() or len(texts) != len(labels):
        raise RowFault(
            f"expected as many label sets as sentences, found {len(labels)} for {len(texts)}"
        )
    return [
        (text, parse_labels(annotation, top=top))
        for text, annotation in zip(texts, labels, strict=True)
    ]


def _whole(path: Path) -> str:
    text = "".join(text_lines(path, "utf-8", newline="\n"))
    fault = text_fault(text)
    if fault:
        raise RowFault(f"{path.parent.name}: {fault}")
    return text


def _abstract(path: Path, sentences: Sentences) -> Iterator[Row]:
    text = "\n".join(text for text, _ in sentences)
    labels = sorted({name for _, names in sentences for name in names})
    yield SourceLocation(path, 1), Document(path.stem, text, labels)


def _each(path: Path, sentences: Sentences) -> Iterator[Row]:
    for number, (text, labels) in enumerate(sentences, start=1):
        yield SourceLocation(path, number), Document(f"{path.stem}-{number}", text, labels)
