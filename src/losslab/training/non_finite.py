"""A loss that turned NaN or infinite: what to tell, and what to keep for a second look."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from losslab.training.batches import Documents

NAMED = 5  # documents and labels a message names


class NonFinite(Exception):  # noqa: N818 - raised and caught within a training
    """Where it happened: the documents and the places of the batch."""

    def __init__(self, fault: str, documents: Documents, places: np.ndarray) -> None:
        super().__init__(fault)
        self.documents, self.places = documents, places

    def describe(self, network: nn.Module, labels: Sequence[str] | None = None) -> str:
        """The fault, the range of the logits, and the documents and labels furthest out."""
        with torch.inference_mode():
            device = next(network.parameters()).device
            inputs = {k: v.to(device) for k, v in self.documents.inputs(self.places).items()}
            logits = network.eval().model(**inputs).float().cpu()
        size = torch.nan_to_num(logits.abs(), nan=torch.inf)
        documents = [str(self.documents.ids[self.places[row]]) for row in _largest(size.amax(1))]
        columns = _largest(size.amax(0))
        named = [labels[column] if labels else str(column) for column in columns]
        return (
            f"{self}; logits from {logits.min():.3g} to {logits.max():.3g}, largest for documents "
            f"{', '.join(documents)} and labels {', '.join(named)}"
        )

    def keep(self, folder: Path, network: nn.Module, facts: dict[str, Any]) -> None:
        """Save the batch, the weights it met and the facts, to be replayed."""
        folder.mkdir(parents=True, exist_ok=True)
        batch = self.documents.batch(self.places)
        save_file(_flat(batch), folder / "batch.safetensors")
        save_file(_whole(network.state_dict()), folder / "weights.safetensors")
        ids = [str(self.documents.ids[place]) for place in self.places]
        (folder / "fault.json").write_text(json.dumps({**facts, "documents": ids}, indent=2))


def _largest(sizes: Tensor) -> list[int]:
    return [int(place) for place in sizes.topk(min(NAMED, len(sizes))).indices]


def _flat(batch: dict[str, Any]) -> dict[str, Tensor]:
    parts = {**batch["inputs"], "targets": batch["targets"], **batch["context"]}
    return {name: part.contiguous() for name, part in parts.items()}


def _whole(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: weight.detach().cpu().clone() for name, weight in state.items()}
