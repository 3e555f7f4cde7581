"""Features of a recipe's model: frozen embeddings, with TF-IDF or without; or token ids."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from tokenizers import Tokenizer
from tqdm import tqdm

from losslab.features.encoder import encoder_tokenizer, load_encoder, pool
from losslab.features.inputs import default_device, do_batches, inputs_of, ordered_batches
from losslab.features.tfidf import Vocabulary, learn_vocabulary, weigh_words
from losslab.features.tokens import initial_vectors, tokenize, word_tokenizer
from losslab.parameters import (
    EncoderSettings,
    FrozenEncoder,
    HybridSettings,
    ModelSettings,
    TextSettings,
    WordSettings,
    frozen_encoder,
)


@dataclass(frozen=True)
class HybridTokenizer:
    """The encoder's tokenizer and the vocabulary of TF-IDF; in JSON both, as ``Tokenizer`` is."""

    tokenizer: Tokenizer
    vocabulary: Vocabulary

    def to_str(self) -> str:
        """As JSON."""
        tokenizer = json.loads(self.tokenizer.to_str())
        return json.dumps({"tokenizer": tokenizer, "vocabulary": self.vocabulary})

    @classmethod
    def from_str(cls, text: str) -> "HybridTokenizer":
        """From JSON."""
        parts = json.loads(text)
        return cls(Tokenizer.from_str(json.dumps(parts["tokenizer"])), parts["vocabulary"])


AnyTokenizer: TypeAlias = Tokenizer | HybridTokenizer


def learn_tokenizer(settings: ModelSettings, texts: Sequence[str]) -> AnyTokenizer:
    """The encoder's tokenizer, for a hybrid with TF-IDF of ``texts``; or words of ``texts``."""
    if isinstance(settings, WordSettings):
        return word_tokenizer(texts, settings)
    if isinstance(settings, HybridSettings):
        tokenizer = encoder_tokenizer(settings.backbone, settings.max_length)
        return HybridTokenizer(tokenizer, learn_vocabulary(texts, settings.tfidf))
    if isinstance(settings, EncoderSettings):
        return encoder_tokenizer(settings.backbone, settings.max_length)
    raise TypeError(f"no tokenizer for {type(settings).__name__}")


def load_tokenizer(settings: ModelSettings, saved: Mapping[str, Any]) -> AnyTokenizer:
    """The tokenizer of a model, from the JSON that was saved of it."""
    kind = HybridTokenizer if isinstance(settings, HybridSettings) else Tokenizer
    loaded: AnyTokenizer = kind.from_str(json.dumps(saved))
    return loaded


def compute_features(
    settings: ModelSettings,
    texts: Sequence[str],
    tokenizer: AnyTokenizer,
    embeddings: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """``embeddings`` for a probe, and words weighted by TF-IDF for a hybrid.

    Else token ids, with initial word ``vectors`` where they apply.

    Args:
        embeddings: those of ``texts``, where they are known.
    """
    if not isinstance(settings, TextSettings):
        raise TypeError(f"no texts for {type(settings).__name__}")
    words: dict[str, np.ndarray] = {}
    if isinstance(tokenizer, HybridTokenizer):
        words, tokenizer = weighted_words(texts, tokenizer.vocabulary), tokenizer.tokenizer
    encoder = frozen_encoder(settings)
    if isinstance(encoder, FrozenEncoder):
        known = embed_texts(texts, tokenizer, encoder) if embeddings is None else embeddings
        return {"embeddings": known, **words}
    tokens = tokenize(texts, tokenizer, settings)
    if isinstance(settings, WordSettings):
        vectors = initial_vectors(
            tokenizer.get_vocab(), embedding_dim=settings.embedding_dim, file=settings.vectors
        )
        return {**tokens, "vectors": vectors}
    return tokens


def weighted_words(texts: Sequence[str], vocabulary: Vocabulary) -> dict[str, np.ndarray]:
    """Words of all texts, one text after the other, with their TF-IDF; ``word_offsets`` of texts."""
    matrix = weigh_words(texts, vocabulary)
    return {
        "word_ids": matrix.indices,
        "word_weights": matrix.data,
        "word_offsets": matrix.indptr,
        "num_words": np.array([matrix.shape[1]]),
    }


def embed_texts(
    texts: Sequence[str], tokenizer: Tokenizer, settings: FrozenEncoder, *, batch_size: int = 32
) -> np.ndarray:
    """L2-normalized embeddings of the frozen encoder: texts x dim, float32."""
    tokens = tokenize(texts, tokenizer, settings)
    encoder = load_encoder(settings.backbone)
    return embed_tokens(tokens, encoder, settings.pooling, batch_size=batch_size)


def embed_tokens(
    tokens: Mapping[str, np.ndarray],
    encoder: Any,
    pooling: str,
    *,
    batch_size: int = 32,
    progress: bool = True,
) -> np.ndarray:
    """L2-normalized embeddings of tokenized texts: texts x dim, float32."""
    device = default_device()
    model = encoder.eval().to(device)
    inputs = inputs_of(tokens, np.arange(len(tokens["offsets"]) - 1))
    embeddings = np.empty((len(inputs.lengths), model.config.hidden_size), dtype=np.float32)
    batches = ordered_batches(inputs.lengths, batch_size)

    def embed(indices: np.ndarray) -> None:
        batch = {name: tensor.to(device) for name, tensor in inputs.batch(indices).items()}
        with torch.inference_mode():
            hidden = model(**batch).last_hidden_state
            pooled = pool(hidden, batch["attention_mask"], pooling)
        embeddings[indices] = torch.nn.functional.normalize(pooled.float(), dim=1).cpu().numpy()

    shown = {"unit": "batch", "disable": None if progress else True, "leave": False}
    list(tqdm(do_batches(embed, batches, device), "embedding", len(batches), **shown))
    return embeddings
