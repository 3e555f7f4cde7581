"""What a user's file is, read off its bytes: format, encoding, separator of labels.

Deterministic. What cannot be told apart is a ``CorpusError`` that lists the candidates.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from losslab.errors import CorpusError

DELIMITERS = (",", ";", "\t", "|")
"""Between the fields of a CSV row."""
SEPARATORS = (",", ";", "|", "\t", "\n")
"""Between the labels of a cell."""
NAMED = {"comma": ",", "semicolon": ";", "bar": "|", "tab": "\t", "space": " ", "newline": "\n"}
"""Names of characters that a command line does not take as they are."""
LEGACY = ("cp1252", "cp1250", "cp1251", "cp1253", "shift_jis", "gb18030", "big5", "euc_kr")
"""Encodings of files that are not Unicode."""
FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}
WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods")
BYTE_ORDER_MARKS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"\xef\xbb\xbf": "utf-8",
}
DAMAGED = 20
"""One line in so many may be damaged, and a file still be of an encoding."""
HIGH = re.compile(rb"[\x80-\xff]+")
SYMBOL_IN_WORD = re.compile(
    r"[^\W\d_][\u00a1-\u00a9\u00ab-\u00b3\u00b8\u00b9\u00bb-\u00bf\u00d7\u00f7]+[^\W\d_]"
)
FOREIGN_WORD = re.compile(r"\S*[^\x00-\x7f]\S*")


def sniff_format(path: Path, start: bytes) -> str:
    """The format of a file by its name, else by its first bytes; of a folder, ``folder``.

    >>> sniff_format(Path("a.csv.gz"), b""), sniff_format(Path("export"), b'  {"text": 1}')
    ('csv', 'jsonl')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if suffix in WORKBOOKS:
        raise CorpusError(f"{path} is a workbook: save its sheet as CSV or Parquet")
    if suffix in FORMATS:
        return FORMATS[suffix]
    if start.startswith(b"PAR1"):
        return "parquet"
    return "jsonl" if start.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{") else "csv"


def sniff_unicode(start: bytes) -> str | None:
    """The encoding that a byte order mark, or the zero bytes of UTF-16, give away.

    >>> sniff_unicode("text,labels".encode("utf-16-le")), sniff_unicode(b"text,labels")
    ('utf-16-le', None)
    """
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if start.startswith(mark):
            return encoding
    zeros = [part.count(0) / max(len(part), 1) for part in (start[::2], start[1::2])]
    if max(zeros) < 0.5 or min(zeros) > 0.1:
        return None
    return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"


def sniff_encoding(lines: Iterable[bytes], path: Path) -> str:
    """The encoding of lines without a byte order mark: UTF-8 or Windows-1252.

    A file of UTF-8 may have damaged lines, which are rejected one by one. One that is not UTF-8 at
    all is Windows-1252 where this gives words; other encodings have to be named.
    """
    total, legible, illegible = 0, 0, []
    for line in lines:
        total += 1
        if not line.isascii():
            if is_utf8(line):
                legible += 1
            else:
                illegible.append(line)
    if len(illegible) < max(legible, 1):
        return "utf-8"
    if not legible and _gives_words(illegible):
        return "cp1252"
    if not legible and len(illegible) * DAMAGED <= total:
        return "utf-8"
    raise CorpusError(_encodings(path, illegible, total))


def is_utf8(line: bytes) -> bool:
    """Whether bytes are UTF-8."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _gives_words(lines: Sequence[bytes]) -> bool:
    """Whether lines read as Windows-1252 are Western words.

    There, letters beyond ASCII come alone or in twos, and symbols stand beside words, not inside.
    """
    runs = [run.decode("cp1252", "replace") for line in lines for run in HIGH.findall(line)]
    odd = sum("\ufffd" in run or sum(map(str.isalpha, run)) > 2 for run in runs)
    inside = (SYMBOL_IN_WORD.findall(line.decode("cp1252", "replace")) for line in lines)
    return (odd + sum(map(len, inside))) * DAMAGED <= len(runs)


def _encodings(path: Path, lines: Sequence[bytes], total: int) -> str:
    """The encodings that lines may have, each with a word as it would read."""
    words = {encoding: foreign_word(lines, encoding) for encoding in LEGACY}
    listed = ", ".join(f"{encoding} ({word!r})" for encoding, word in words.items() if word)
    return (
        f"{path}: {len(lines)} of {total} lines are not UTF-8, and which encoding they have cannot "
        f"be told: set corpus.encoding to {listed or 'its name'}, or to utf-8 to reject those lines"
    )


def foreign_word(lines: Iterable[bytes], encoding: str) -> str | None:
    """The first word that is not ASCII; None if there is none or the lines do not decode.

    >>> foreign_word([b"die Gr\\xf6\\xdfe"], "cp1252")
    'Größe'
    """
    try:
        words = (FOREIGN_WORD.search(line.decode(encoding)) for line in lines)
        return next((word[0][:30] for word in words if word), None)
    except UnicodeDecodeError:
        return None


def sniff_separator(cells: Iterable[str]) -> str:
    """What separates the labels of cells; a comma where nothing does.

    Of several candidates only those count that give a label found in more than one kind of cell. The
    one that gives the fewest labels is taken if the others give half as many again.

    >>> sniff_separator(["dogs, big;cats", "cats", "birds;cats", "dogs, big"])
    ';'
    """
    kinds = list(dict.fromkeys(cell.strip() for cell in cells))
    present = [each for each in SEPARATORS if any(each in cell for cell in kinds)]
    if len(present) < 2:
        return present[0] if present else SEPARATORS[0]
    counts = {each: _count_labels(kinds, each) for each in present}
    likely = [each for each in present if labels_recur(kinds, each)] or present
    likely.sort(key=lambda each: len(counts[each]))
    if len(likely) > 1 and 1.5 * len(counts[likely[0]]) > len(counts[likely[1]]):
        raise CorpusError(_separators({each: counts[each] for each in likely}))
    return likely[0]


def labels_recur(cells: Iterable[str], separator: str) -> bool:
    """Whether a label of a cell of several occurs in a cell of another kind, too.

    >>> labels_recur(["a,b", "b"], ","), labels_recur(["dogs, big", "cats"], ",")
    (True, False)
    """
    kinds = list(dict.fromkeys(cells))
    counts = _count_labels(kinds, separator)
    several = (cell_parts(cell, separator) for cell in kinds if separator in cell)
    return any(counts[label] > 1 for labels in several for label in labels)


def cell_parts(cell: str, separator: str) -> list[str]:
    """The labels of a separated list; empty ones are dropped."""
    return [name for name in (part.strip() for part in cell.split(separator)) if name]


def _count_labels(cells: Iterable[str], separator: str) -> Counter[str]:
    return Counter(label for cell in cells for label in set(cell_parts(cell, separator)))


def _separators(counts: Mapping[str, Counter[str]]) -> str:
    """The candidates for a separator, each with what it gives."""
    listed = "; ".join(
        f"{character_name(each)} gives {len(labels)} labels, such as {min(labels)[:40]!r}"
        for each, labels in counts.items()
    )
    return f"what separates the labels cannot be told, set corpus.separator: {listed}"


def character_name(character: str) -> str:
    """A character as options take it from a command line.

    >>> character_name(","), character_name("/")
    ('comma', '/')
    """
    return {value: name for name, value in NAMED.items()}.get(character, character)
