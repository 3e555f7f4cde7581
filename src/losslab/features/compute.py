"""What a recipe's model reads of a text: frozen embeddings, or token ids."""

from collections.abc import Sequence

import numpy as np
from tokenizers import Tokenizer

from losslab.features.encoder import embed_texts, encoder_tokenizer
from losslab.features.tokens import tokenise, word_tokenizer
from losslab.features.word_vectors import first_vectors
from losslab.parameters import EncoderSettings, ModelSettings, ProbeSettings, WordSettings


def learn_tokenizer(settings: ModelSettings, texts: Sequence[str]) -> Tokenizer:
    """The encoder's own tokenizer, or one of the words of ``texts``."""
    if isinstance(settings, WordSettings):
        return word_tokenizer(texts, settings)
    if isinstance(settings, EncoderSettings):
        return encoder_tokenizer(settings.backbone, settings.max_length)
    raise TypeError(f"no tokenizer for {type(settings).__name__}")


def compute_features(
    settings: ModelSettings, texts: Sequence[str], tokenizer: Tokenizer
) -> dict[str, np.ndarray]:
    """``embeddings`` for a probe; else token ``ids``, and for words the ``vectors`` they start at."""
    tokens = tokenise(texts, tokenizer, settings)
    if isinstance(settings, ProbeSettings):
        return {"embeddings": embed_texts(tokens, settings)}
    if isinstance(settings, WordSettings):
        vocabulary = tokenizer.get_vocab()
        vectors = first_vectors(vocabulary, width=settings.width, file=settings.vectors)
        return {**tokens, "vectors": vectors}
    return tokens
