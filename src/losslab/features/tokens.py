"""Token ids of a corpus, and the initial word embeddings of a vocabulary."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from losslab.errors import EncoderError
from losslab.parameters import FrozenEncoder, TextSettings, WordSettings

PAD, UNKNOWN = "[PAD]", "[UNK]"
CHUNK = 1000
"""Texts tokenized at a time."""


def word_tokenizer(texts: Iterable[str], settings: WordSettings) -> Tokenizer:
    """A word-level tokenizer with the most frequent words and punctuation of ``texts``."""
    tokenizer = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if settings.lowercase:
        tokenizer.normalizer = normalizers.Lowercase()
    trainer = trainers.WordLevelTrainer(
        vocab_size=settings.vocab_size + 2,
        min_frequency=settings.min_count,
        special_tokens=[PAD, UNKNOWN],
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.enable_padding(pad_id=tokenizer.token_to_id(PAD), pad_token=PAD)
    return tokenizer


def tokenize(
    texts: Sequence[str], tokenizer: Tokenizer, settings: TextSettings | FrozenEncoder
) -> dict[str, np.ndarray]:
    """Concatenated ``ids`` of all texts, ``offsets`` (texts + 1) and the ``pad`` id.

    A text above ``max_length`` keeps its head, or head and tail; special tokens stay.
    """
    return TokenIds(tokenizer, settings)(texts)


class TokenIds:
    """``tokenize`` with one tokenizer, prepared once: a copy, the caller's stays unchanged."""

    def __init__(self, tokenizer: Tokenizer, settings: TextSettings | FrozenEncoder) -> None:
        self._pad = (tokenizer.padding or {})["pad_id"]
        self._prefix, self._suffix = _special_tokens(tokenizer)
        self._room = settings.max_length - len(self._prefix) - len(self._suffix)
        self._truncation = settings.truncation
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        small = tokenizer.get_vocab_size() <= np.iinfo(np.uint16).max
        self._dtype = np.uint16 if small else np.int32

    def __call__(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """``ids``, ``offsets`` and ``pad`` of texts."""
        rows = [row for start in range(0, len(texts), CHUNK) for row in self._rows(texts, start)]
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        ids = np.fromiter(chain.from_iterable(rows), dtype=self._dtype, count=offsets[-1])
        return {"ids": ids, "offsets": offsets, "pad": np.array([self._pad], dtype=np.int64)}

    def _rows(self, texts: Sequence[str], start: int) -> Iterator[list[int]]:
        chunk = list(texts[start : start + CHUNK])
        for encoding in self._tokenizer.encode_batch_fast(chunk, add_special_tokens=False):
            kept = truncate(encoding.ids, self._room, self._truncation)
            yield [*self._prefix, *kept, *self._suffix]


def truncate(tokens: list[int], room: int, truncation: str) -> list[int]:
    """At most ``room`` tokens: the head, or a quarter from the head and the rest from the tail.

    >>> truncate([1, 2, 3, 4, 5, 6], 4, "head"), truncate([1, 2, 3, 4, 5, 6], 4, "head_tail")
    ([1, 2, 3, 4], [1, 4, 5, 6])
    """
    if len(tokens) <= room:
        return tokens
    head = room if truncation == "head" else room // 4
    return tokens[:head] + tokens[len(tokens) - (room - head) :]


def _special_tokens(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """The special tokens before and after every text."""
    bare = tokenizer.encode("a", add_special_tokens=False).ids
    framed = tokenizer.encode("a").ids
    for start in range(len(framed) - len(bare) + 1):
        if framed[start : start + len(bare)] == bare:
            return framed[:start], framed[start + len(bare) :]
    return [], []


def initial_vectors(
    vocabulary: Mapping[str, int], *, embedding_dim: int, file: str | None, seed: int = 0
) -> np.ndarray:
    """Initial word embeddings, words x dim: pretrained where ``file`` has the word, else random."""
    pretrained = {} if file is None else read_vectors(Path(file), vocabulary)
    dim = len(next(iter(pretrained.values()))) if pretrained else embedding_dim
    random = np.random.default_rng(seed)
    vectors = random.normal(scale=0.1, size=(len(vocabulary), dim)).astype(np.float32)
    for word, vector in pretrained.items():
        vectors[vocabulary[word]] = vector
    vectors[vocabulary[PAD]] = 0
    return vectors


def read_vectors(file: Path, vocabulary: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Pretrained vectors of the vocabulary's words, from GloVe or word2vec text format.

    The first line, unless a word2vec header, gives the dimension; a word may contain spaces. A file
    with none of the words is refused.
    """
    try:
        lines = file.open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise EncoderError(f"no word vectors in {file}: {error.strerror}") from error
    vectors: dict[str, np.ndarray] = {}
    dim = 0
    with lines:
        for number, line in enumerate(lines, start=1):
            if number == 1 and len(line.split()) == 2:
                continue
            dim = dim or line.rstrip().count(" ")
            word, *values = line.rstrip().rsplit(" ", dim)
            if word in vocabulary:
                vectors[word] = _parse_vector(values, dim, f"{file}, line {number}")
    if not vectors:
        raise EncoderError(
            f"{file} has a vector of none of the corpus's {len(vocabulary)} words: expected a word "
            "and its numbers on each line, separated by spaces"
        )
    return vectors


def _parse_vector(values: list[str], dim: int, location: str) -> np.ndarray:
    try:
        vector = np.array(values, dtype=np.float32)
    except ValueError as error:
        raise EncoderError(f"{location}: expected a word and numbers, found {error}") from error
    if len(vector) == 0 or len(vector) != dim:
        raise EncoderError(f"{location}: expected {dim or 'some'} numbers, found {len(vector)}")
    return vector
