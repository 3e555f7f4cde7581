"""Validators of tables and matrices, for ``validator:`` in the catalog."""

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data import SPLITS
from losslab.data.corpus import DOCUMENT_COLUMNS, IMAGE_COLUMNS, QUESTION_COLUMNS


def check_documents(documents: pd.DataFrame) -> pd.DataFrame:
    """Validate documents: columns, unique ids, no empty text.

    There need not be any: the node that reads them tells why, when rejected rows have been saved.
    """
    if list(documents.columns) not in (DOCUMENT_COLUMNS, [*DOCUMENT_COLUMNS, *IMAGE_COLUMNS]):
        raise ValueError(
            f"expected the columns {DOCUMENT_COLUMNS}, found {list(documents.columns)}"
        )
    _name_rows("duplicate id", documents, documents["id"].duplicated())
    _name_rows("empty text", documents, documents["text"].str.strip() == "")
    return documents


def check_questions(questions: pd.DataFrame) -> pd.DataFrame:
    """Validate questions: columns, unique ids, a positive for each, at least one row."""
    if list(questions.columns) != QUESTION_COLUMNS:
        raise ValueError(
            f"expected the columns {QUESTION_COLUMNS}, found {list(questions.columns)}"
        )
    if questions.empty:
        raise ValueError("expected at least one question, found none")
    _name_rows("duplicate id", questions, questions["id"].duplicated(), "questions")
    _name_rows("no candidate", questions, questions["candidate"].isna(), "questions")
    return questions


def check_splits(documents: pd.DataFrame) -> pd.DataFrame:
    """Validate split documents: each in one of three splits, none of them empty."""
    check_documents(documents)
    _name_rows(f"split not in {SPLITS}", documents, ~documents["split"].isin(SPLITS))
    missing = set(SPLITS) - set(documents["split"])
    if missing:
        raise ValueError(f"no document in the split {', '.join(sorted(missing))}")
    return documents


def check_label_matrix(targets: sparse.csr_array) -> sparse.csr_array:
    """Validate a label matrix: zeros and ones, at least one label."""
    if targets.shape[1] == 0:
        raise ValueError("no document carries a label")
    if not np.isin(targets.data, (0, 1)).all():
        raise ValueError("targets must be 0 or 1")
    return targets


def _name_rows(
    fault: str, documents: pd.DataFrame, rows: pd.Series, kind: str = "documents"
) -> None:
    if rows.any():
        names = ", ".join(map(str, documents.loc[rows, "id"].head(3)))
        raise ValueError(f"{int(rows.sum())} {kind} with {fault}, such as {names}")
