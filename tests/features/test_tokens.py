import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import AutoTokenizer

from losslab.errors import EncoderError
from losslab.features.encoder import encoder_tokenizer, minilm_folder
from losslab.features.inputs import inputs_of, ordered_batches
from losslab.features.tokens import PAD, UNKNOWN, initial_vectors, tokenize, word_tokenizer
from losslab.parameters import TextCNNSettings, TransformerSettings

MINILM = TransformerSettings(
    kind="transformer",
    backbone="minilm",
    pooling="mean",
    max_length=12,
    truncation="head",
    dropout=0.0,
)
WORDS = TextCNNSettings(
    kind="textcnn",
    vocab_size=4,
    min_count=1,
    lowercase=True,
    embedding_dim=5,
    vectors=None,
    max_length=8,
    truncation="head",
    dropout=0.0,
    kernel_sizes=(2,),
    filters=3,
)
TEXTS = ["short", "", "one two three four five six seven eight nine ten eleven twelve thirteen"]


def rows(tokens) -> list[list[int]]:
    return [list(part) for part in np.split(tokens["ids"], tokens["offsets"][1:-1])]


def test_tokens_are_those_the_encoders_own_tokenizer_gives():
    oracle = AutoTokenizer.from_pretrained(minilm_folder())
    expected = oracle(TEXTS, truncation=True, max_length=12)["input_ids"]
    tokens = tokenize(TEXTS, encoder_tokenizer("minilm", 12), MINILM)
    assert rows(tokens) == expected
    assert tokens["ids"].dtype == np.uint16


def test_head_and_tail_keep_both_ends_and_the_frame():
    settings = MINILM.model_copy(update={"truncation": "head_tail", "max_length": 8})
    whole = rows(
        tokenize(
            TEXTS, encoder_tokenizer("minilm", 12), MINILM.model_copy(update={"max_length": 64})
        )
    )[2]
    cut = rows(tokenize(TEXTS, encoder_tokenizer("minilm", 12), settings))[2]
    assert cut == [*whole[:2], *whole[-6:]]


def test_batches_are_padded_to_their_longest_text_only():
    tokens = tokenize(TEXTS, encoder_tokenizer("minilm", 12), MINILM)
    inputs = inputs_of(tokens, np.array([2, 0, 1]))
    batch = inputs.batch(np.array([1, 2]))
    assert batch["input_ids"].shape == (2, 3)
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert batch["input_ids"][1, 2] == tokens["pad"][0] == 0
    assert [list(indices) for indices in ordered_batches(inputs.lengths, 2)] == [[0, 1], [2]]


def test_vocabulary_holds_the_most_frequent_words_of_the_training_texts():
    tokenizer = word_tokenizer(["the cat the dog", "The cat sat, the mat"], WORDS)
    vocabulary = tokenizer.get_vocab()
    assert {"[PAD]", "[UNK]", "the", "cat"} <= set(vocabulary)
    assert len(vocabulary) == 6
    assert vocabulary["[PAD]"] == 0
    (row,) = rows(tokenize(["THE zebra"], tokenizer, WORDS))
    assert row == [vocabulary["the"], vocabulary["[UNK]"]]


@pytest.mark.parametrize("words", [1, 3])
def test_vocabulary_is_no_larger_than_asked(words):
    settings = WORDS.model_copy(update={"vocab_size": words})
    assert word_tokenizer(["a b c d e f"], settings).get_vocab_size() == words + 2


def test_tokenizing_leaves_the_tokenizer_fit_for_another_text():
    tokenizer = encoder_tokenizer("minilm", 12)
    written = tokenizer.to_str()
    first = tokenize(TEXTS, tokenizer, MINILM)
    assert tokenizer.to_str() == written
    assert rows(tokenize(TEXTS, tokenizer, MINILM)) == rows(first)


def test_token_ids_of_a_large_vocabulary_stay_what_they_are():
    words = {PAD: 0, UNKNOWN: 1, **{f"w{number}": number for number in range(2, 70_000)}}
    tokenizer = Tokenizer(WordLevel(words, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_padding(pad_id=0, pad_token=PAD)
    tokens = tokenize(["w2 w65535 w65536 w69999"], tokenizer, WORDS)
    assert tokens["ids"].tolist() == [2, 65_535, 65_536, 69_999]
    assert tokens["ids"].dtype == np.int32
    batch = inputs_of(tokens, np.array([0])).batch(np.array([0]))
    assert batch["input_ids"].tolist() == [[2, 65_535, 65_536, 69_999]]


@pytest.mark.parametrize("header", ["2 3\n", ""])
def test_word_embeddings_start_at_pretrained_vectors(tmp_path, header):
    file = tmp_path / "vectors.txt"
    file.write_text(f"{header}lock 1 2 3\nlock up 7 7 7\nopen 4 5 6\n")
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "lock": 2, "open": 3, "rare": 4}
    vectors = initial_vectors(vocabulary, embedding_dim=9, file=str(file))
    assert vectors[[0, 2, 3]].tolist() == [[0, 0, 0], [1, 2, 3], [4, 5, 6]]
    assert np.abs(vectors[4]).max() < 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("lock 1 2\nopen 1\n", "line 2: expected 2 numbers, found 1"),
        ("lock 1 x\n", "line 1: expected a word and numbers"),
        (None, "no word vectors in .*vectors.txt"),
        ("lock\t1\t2\nopen\t1\t2\n", "vectors.txt has a vector of none of the corpus's 3 words"),
    ],
)
def test_malformed_vectors_are_named_with_their_line(tmp_path, content, message):
    file = tmp_path / "vectors.txt"
    if content is not None:
        file.write_text(content)
    with pytest.raises(EncoderError, match=message):
        initial_vectors({"[PAD]": 0, "lock": 1, "open": 2}, embedding_dim=2, file=str(file))
