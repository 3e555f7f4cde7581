"""A loss that became NaN or infinite: what to report, and what to keep for a replay."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from losslab.errors import NonFiniteScoresError
from losslab.training.batches import SplitDataset

MAX_NAMED = 5
"""Documents and labels named in a message."""


def require_finite(scores: np.ndarray, loss: str, seed: int, split: str) -> np.ndarray:
    """The scores as they are; NonFiniteScoresError where one of them is NaN or infinite."""
    faults = scores.size - int(np.isfinite(scores).sum())
    if faults:
        raise NonFiniteScoresError(
            f"{loss}, seed {seed}: {faults} of {scores.size} scores of the {split} split are not "
            "finite: the saved model or the features are damaged; train the loss again"
        )
    return scores


class NonFiniteBatch(Exception):  # noqa: N818 - raised and caught within a training
    """A batch with a non-finite loss or gradient: its split, indices and logits."""

    def __init__(
        self, fault: str, split: SplitDataset, indices: np.ndarray, logits: Tensor
    ) -> None:
        super().__init__(fault)
        self.split, self.indices, self.logits = split, indices, logits.float().cpu()

    def describe(self, labels: Sequence[str] | None = None) -> str:
        """The fault, the range of the logits, and the documents and labels with the largest."""
        size = torch.nan_to_num(self.logits.abs(), nan=torch.inf)
        documents = [str(self.split.ids[self.indices[row]]) for row in _top_indices(size.amax(1))]
        columns = _top_indices(size.amax(0))
        names = [labels[column] if labels else str(column) for column in columns]
        return (
            f"{self}; {_describe_range(self.logits)}, largest for documents {', '.join(documents)} "
            f"and labels {', '.join(names)}"
        )

    def save(self, folder: Path, network: nn.Module, facts: dict[str, Any]) -> None:
        """Save batch, weights and facts for a replay; an earlier failure's are removed."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        batch = self.split.batch(self.indices)
        save_file(_flatten_batch(batch), folder / "batch.safetensors")
        save_file(copy_weights(network), folder / "weights.safetensors")
        ids = [str(self.split.ids[index]) for index in self.indices]
        (folder / "fault.json").write_text(json.dumps({**facts, "documents": ids}, indent=2))


def copy_weights(network: nn.Module) -> dict[str, Tensor]:
    """A copy of the state dict, on the CPU."""
    return {name: value.detach().cpu().clone() for name, value in network.state_dict().items()}


def _describe_range(logits: Tensor) -> str:
    finite = logits[logits.isfinite()]
    bounds = (
        f"from {finite.min():.3g} to {finite.max():.3g}" if len(finite) else "none of them finite"
    )
    counts = {"NaN": int(logits.isnan().sum()), "infinite": int(logits.isinf().sum())}
    return ", ".join(
        [f"logits {bounds}", *(f"{number} {kind}" for kind, number in counts.items() if number)]
    )


def _top_indices(sizes: Tensor) -> list[int]:
    return [int(index) for index in sizes.topk(min(MAX_NAMED, len(sizes))).indices]


def _flatten_batch(batch: dict[str, Any]) -> dict[str, Tensor]:
    tensors = {**batch["inputs"], "targets": batch["targets"], **batch["context"]}
    return {name: tensor.contiguous() for name, tensor in tensors.items()}
