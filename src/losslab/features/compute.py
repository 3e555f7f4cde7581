"""Features of a recipe's model: frozen embeddings, or token ids."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import torch
from tokenizers import Tokenizer
from tqdm import tqdm

from losslab.features.encoder import encoder_tokenizer, load_encoder, pool
from losslab.features.inputs import default_device, inputs_of, ordered_batches
from losslab.features.tokens import initial_vectors, tokenize, word_tokenizer
from losslab.parameters import EncoderSettings, ModelSettings, ProbeSettings, WordSettings


def learn_tokenizer(settings: ModelSettings, texts: Sequence[str]) -> Tokenizer:
    """The encoder's tokenizer, or a word-level one trained on ``texts``."""
    if isinstance(settings, WordSettings):
        return word_tokenizer(texts, settings)
    if isinstance(settings, EncoderSettings):
        return encoder_tokenizer(settings.backbone, settings.max_length)
    raise TypeError(f"no tokenizer for {type(settings).__name__}")


def compute_features(
    settings: ModelSettings, texts: Sequence[str], tokenizer: Tokenizer
) -> dict[str, np.ndarray]:
    """``embeddings`` for a probe; else token ids, with initial word ``vectors`` where they apply."""
    tokens = tokenize(texts, tokenizer, settings)
    if isinstance(settings, ProbeSettings):
        return {"embeddings": embed_texts(tokens, settings)}
    if isinstance(settings, WordSettings):
        vectors = initial_vectors(
            tokenizer.get_vocab(), embedding_dim=settings.embedding_dim, file=settings.vectors
        )
        return {**tokens, "vectors": vectors}
    return tokens


def embed_texts(
    tokens: Mapping[str, np.ndarray], settings: EncoderSettings, *, batch_size: int = 32
) -> np.ndarray:
    """L2-normalized embeddings of the frozen encoder: texts x dim, float32.

    On a CPU each batch is computed by one thread, as many batches at a time as there are threads:
    quicker than all threads on one batch, and the same numbers whatever their number.
    """
    device = default_device()
    model = load_encoder(settings.backbone).eval().to(device)
    inputs = inputs_of(tokens, np.arange(len(tokens["offsets"]) - 1))
    embeddings = np.empty((len(inputs.lengths), model.config.hidden_size), dtype=np.float32)
    batches = ordered_batches(inputs.lengths, batch_size)

    def embed(indices: np.ndarray) -> None:
        batch = {name: tensor.to(device) for name, tensor in inputs.batch(indices).items()}
        with torch.inference_mode():
            hidden = model(**batch).last_hidden_state
            pooled = pool(hidden, batch["attention_mask"], settings.pooling)
        embeddings[indices] = torch.nn.functional.normalize(pooled.float(), dim=1).cpu().numpy()

    threads = torch.get_num_threads() if device.type == "cpu" else 1
    with ThreadPoolExecutor(threads, initializer=partial(torch.set_num_threads, 1)) as workers:
        done = workers.map(embed, batches)
        list(tqdm(done, "embedding", len(batches), unit="batch", disable=None, leave=False))
    return embeddings
