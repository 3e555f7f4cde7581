import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import AutoTokenizer

from losslab.features.encoder import encoder_tokenizer, minilm_folder
from losslab.features.inputs import inputs_of, ordered_batches
from losslab.features.tokens import tokenise, word_tokenizer
from losslab.features.word_vectors import PAD, UNKNOWN
from losslab.parameters import TextCNNSettings, TransformerSettings

MINILM = TransformerSettings(
    backbone="minilm", pooling="mean", max_length=12, truncation="head", dropout=0.0
)
WORDS = TextCNNSettings(
    words=4,
    least_count=1,
    lowercase=True,
    width=5,
    vectors=None,
    max_length=8,
    truncation="head",
    dropout=0.0,
    windows=(2,),
    filters=3,
)
TEXTS = ["short", "", "one two three four five six seven eight nine ten eleven twelve thirteen"]


def rows(tokens) -> list[list[int]]:
    return [list(part) for part in np.split(tokens["ids"], tokens["offsets"][1:-1])]


def test_tokens_are_those_the_encoders_own_tokenizer_gives():
    oracle = AutoTokenizer.from_pretrained(minilm_folder())
    expected = oracle(TEXTS, truncation=True, max_length=12)["input_ids"]
    tokens = tokenise(TEXTS, encoder_tokenizer("minilm", 12), MINILM)
    assert rows(tokens) == expected
    assert tokens["ids"].dtype == np.uint16


def test_head_and_tail_keep_both_ends_and_the_frame():
    settings = MINILM.model_copy(update={"truncation": "head_tail", "max_length": 8})
    whole = rows(
        tokenise(
            TEXTS, encoder_tokenizer("minilm", 12), MINILM.model_copy(update={"max_length": 64})
        )
    )[2]
    cut = rows(tokenise(TEXTS, encoder_tokenizer("minilm", 12), settings))[2]
    assert cut == [*whole[:2], *whole[-6:]]


def test_batches_are_padded_to_their_longest_text_only():
    tokens = tokenise(TEXTS, encoder_tokenizer("minilm", 12), MINILM)
    inputs = inputs_of(tokens, np.array([2, 0, 1]))
    batch = inputs.batch(np.array([1, 2]))
    assert batch["input_ids"].shape == (2, 3)
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert batch["input_ids"][1, 2] == tokens["pad"][0] == 0
    assert [list(places) for places in ordered_batches(inputs.lengths, 2)] == [[0, 1], [2]]


def test_vocabulary_holds_the_most_frequent_words_of_the_training_texts():
    tokenizer = word_tokenizer(["the cat the dog", "The cat sat, the mat"], WORDS)
    vocabulary = tokenizer.get_vocab()
    assert {"[PAD]", "[UNK]", "the", "cat"} <= set(vocabulary)
    assert len(vocabulary) == 6
    assert vocabulary["[PAD]"] == 0
    (row,) = rows(tokenise(["THE zebra"], tokenizer, WORDS))
    assert row == [vocabulary["the"], vocabulary["[UNK]"]]


@pytest.mark.parametrize("words", [1, 3])
def test_vocabulary_is_no_larger_than_asked(words):
    settings = WORDS.model_copy(update={"words": words})
    assert word_tokenizer(["a b c d e f"], settings).get_vocab_size() == words + 2


def test_tokenising_leaves_the_tokenizer_fit_for_another_text():
    tokenizer = encoder_tokenizer("minilm", 12)
    written = tokenizer.to_str()
    first = tokenise(TEXTS, tokenizer, MINILM)
    assert tokenizer.to_str() == written
    assert rows(tokenise(TEXTS, tokenizer, MINILM)) == rows(first)


def test_token_ids_of_a_large_vocabulary_stay_what_they_are():
    words = {PAD: 0, UNKNOWN: 1, **{f"w{number}": number for number in range(2, 70_000)}}
    tokenizer = Tokenizer(WordLevel(words, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_padding(pad_id=0, pad_token=PAD)
    tokens = tokenise(["w2 w65535 w65536 w69999"], tokenizer, WORDS)
    assert tokens["ids"].tolist() == [2, 65_535, 65_536, 69_999]
    assert tokens["ids"].dtype == np.int32
    batch = inputs_of(tokens, np.array([0])).batch(np.array([0]))
    assert batch["input_ids"].tolist() == [[2, 65_535, 65_536, 69_999]]
