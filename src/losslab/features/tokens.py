"""Texts as token ids, made once for a corpus and kept compactly."""

from collections.abc import Iterable, Sequence

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from losslab.features.word_vectors import PAD, UNKNOWN
from losslab.parameters import ModelSettings, WordSettings

TEXTS_AT_A_TIME = 1000


def word_tokenizer(texts: Iterable[str], settings: WordSettings) -> Tokenizer:
    """A tokenizer of the words and signs of ``texts``, the most frequent ones."""
    tokenizer = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if settings.lowercase:
        tokenizer.normalizer = normalizers.Lowercase()
    trainer = trainers.WordLevelTrainer(
        vocab_size=settings.words + 2,
        min_frequency=settings.least_count,
        special_tokens=[PAD, UNKNOWN],
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.enable_padding(pad_id=tokenizer.token_to_id(PAD), pad_token=PAD)
    return tokenizer


def tokenise(
    texts: Sequence[str], tokenizer: Tokenizer, settings: ModelSettings
) -> dict[str, np.ndarray]:
    """``ids`` of all texts end to end, ``offsets`` (texts + 1) and the id of ``pad``.

    A text that is too long keeps its beginning, or its beginning and its end; the signs a
    pretrained encoder puts around a text stay.
    """
    before, after = _frame(tokenizer)
    room = settings.max_length - len(before) - len(after)
    rows: list[list[int]] = []
    pad = tokenizer.padding["pad_id"]
    tokenizer = Tokenizer.from_str(tokenizer.to_str())  # the caller's stays as it was
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for start in range(0, len(texts), TEXTS_AT_A_TIME):
        part = list(texts[start : start + TEXTS_AT_A_TIME])
        for encoding in tokenizer.encode_batch(part, add_special_tokens=False):
            rows.append([*before, *cut(encoding.ids, room, settings.truncation), *after])
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    kind = np.uint16 if tokenizer.get_vocab_size() <= np.iinfo(np.uint16).max else np.int32
    flat = np.fromiter((token for row in rows for token in row), dtype=kind, count=offsets[-1])
    return {"ids": flat, "offsets": offsets, "pad": np.array([pad], dtype=np.int64)}


def cut(tokens: list[int], room: int, truncation: str) -> list[int]:
    """At most ``room`` tokens: the first ones, or a quarter from the beginning, the rest of the end.

    >>> cut([1, 2, 3, 4, 5, 6], 4, "head"), cut([1, 2, 3, 4, 5, 6], 4, "head_tail")
    ([1, 2, 3, 4], [1, 4, 5, 6])
    """
    if len(tokens) <= room:
        return tokens
    head = room if truncation == "head" else room // 4
    return tokens[:head] + tokens[len(tokens) - (room - head) :]


def _frame(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """What stands before and after every text."""
    bare = tokenizer.encode("a", add_special_tokens=False).ids
    framed = tokenizer.encode("a").ids
    for start in range(len(framed) - len(bare) + 1):
        if framed[start : start + len(bare)] == bare:
            return framed[:start], framed[start + len(bare) :]
    return [], []
