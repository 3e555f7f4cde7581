"""What every reader returns."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pandas as pd

from losslab.data.images import ImageFile
from losslab.errors import CorpusError

DOCUMENT_COLUMNS = ["id", "text", "labels", "split"]
IMAGE_COLUMNS = ["image", "image_sha256"]
QUESTION_COLUMNS = ["id", "text", "candidate", "split"]
REJECTED_COLUMNS = ["file", "line", "reason"]
Modality = Literal["text", "image"]
"""What a document is."""
VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")


@dataclass(frozen=True)
class Corpus:
    """Documents, rejected rows and notes of a corpus.

    Attributes:
        documents: ``id`` (str), ``text`` (str), ``labels`` (list of str), ``split`` (``train``,
            ``validation``, ``test``, or None if the corpus has no split). Where documents are
            images also ``image`` (path from the folder of raw files, or absolute) and
            ``image_sha256``; ``text`` is a caption.
        rejected: ``file``, ``line`` and ``reason`` of each malformed row.
        notes: facts such as the source's version; ``excluded``: number of valid rows that a rule
            of the corpus excludes, by rule.
        questions: of a question-answer corpus, whose documents are the candidate answers: ``id``,
            ``text``, ``candidate`` (the id of the positive), ``split``.
    """

    documents: pd.DataFrame
    rejected: pd.DataFrame
    notes: dict[str, Any] = field(default_factory=dict)
    questions: pd.DataFrame | None = None

    @classmethod
    def of(
        cls,
        documents: Iterable[tuple[str, str, list[str], str | None]],
        rejected: Iterable[tuple[str, int, str]] = (),
        notes: dict[str, Any] | None = None,
        images: Iterable[ImageFile] | None = None,
    ) -> "Corpus":
        """Build the tables from rows; ``images``: one of each document."""
        rows = list(documents)
        split = pd.Series([row[-1] for row in rows], dtype=object)  # None stays None beside names
        table = pd.DataFrame(rows, columns=DOCUMENT_COLUMNS).assign(split=split)
        if images is not None:
            table[IMAGE_COLUMNS] = pd.DataFrame(list(images), columns=IMAGE_COLUMNS)
        return cls(
            table,
            pd.DataFrame(list(rejected), columns=REJECTED_COLUMNS),
            notes or {},
        )

    def summary(self) -> dict[str, Any]:
        """Notes, and counts of documents, rejected rows by reason and excluded rows by rule.

        Reasons that differ only in quoted text or numbers are counted as one.
        """
        reasons = Counter(VARYING.sub("…", reason) for reason in self.rejected["reason"])
        return {
            "notes": {name: value for name, value in self.notes.items() if name != "excluded"},
            "documents": len(self.documents),
            **({} if self.questions is None else {"questions": len(self.questions)}),
            "rejected": dict(reasons.most_common()),
            "excluded": self.notes.get("excluded", {}),
        }


def with_questions(candidates: Corpus, questions: Corpus) -> Corpus:
    """``candidates`` as a question-answer corpus; a question's only label is its positive."""
    table = questions.documents.assign(candidate=questions.documents["labels"].str[0])
    excluded = Counter(candidates.notes["excluded"]) + Counter(questions.notes["excluded"])
    return replace(
        candidates,
        rejected=pd.concat([candidates.rejected, questions.rejected], ignore_index=True),
        notes={**candidates.notes, "excluded": dict(excluded)},
        questions=table[QUESTION_COLUMNS],
    )


def check_rejected(summary: Mapping[str, Any], *, limit: float, details: str) -> None:
    """Raise CorpusError if more than ``limit`` (a share) of the rows were rejected, or all were.

    ``details`` is the dataset that lists them.
    """
    rejected = sum(summary["rejected"].values())
    rows = rejected + summary["documents"] + summary.get("questions", 0)
    if not rows:
        raise CorpusError("no documents: a rule of the corpus excludes every row")
    if rejected <= limit * rows and summary["documents"]:
        return
    common = Counter(summary["rejected"]).most_common(3)
    reasons = "; ".join(f"{reason} ({count})" for reason, count in common)
    more = f", more than max_rejected ({limit:.1%}) allows" if rejected > limit * rows else ""
    error = CorpusError(
        f"{rejected} of {rows} rows were rejected ({rejected / rows:.1%}){more}: {reasons}. Correct "
        "the raw files, or raise max_rejected"
    )
    error.details = details
    raise error


def check_one_label(documents: pd.DataFrame) -> None:
    """Raise CorpusError unless every document has exactly one label (task ``single``)."""
    count = documents["labels"].map(lambda labels: len(set(labels)))
    faults = {"no label": documents["id"][count == 0], "several labels": documents["id"][count > 1]}
    counts = [
        f"{len(ids)} have {fault}, such as {', '.join(ids.head(3))}"
        for fault, ids in faults.items()
        if len(ids)
    ]
    if counts:
        raise CorpusError(
            f"task is single, but of {len(documents)} documents {'; '.join(counts)}; set task to "
            "multi, or correct the labels"
        )
