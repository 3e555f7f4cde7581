"""A loss that turned NaN or infinite: what to tell, and what to keep for a second look."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from losslab.training.batches import SplitDataset

NAMED = 5  # documents and labels a message names


class NonFinite(Exception):  # noqa: N818 - raised and caught within a training
    """Where it happened: the documents, the places of the batch, and the logits it had."""

    def __init__(
        self, fault: str, documents: SplitDataset, places: np.ndarray, logits: Tensor
    ) -> None:
        super().__init__(fault)
        self.documents, self.places, self.logits = documents, places, logits.float().cpu()

    def describe(self, labels: Sequence[str] | None = None) -> str:
        """The fault, the range of the logits, and the documents and labels furthest out."""
        size = torch.nan_to_num(self.logits.abs(), nan=torch.inf)
        documents = [str(self.documents.ids[self.places[row]]) for row in _largest(size.amax(1))]
        columns = _largest(size.amax(0))
        named = [labels[column] if labels else str(column) for column in columns]
        return (
            f"{self}; {_range(self.logits)}, largest for documents {', '.join(documents)} and "
            f"labels {', '.join(named)}"
        )

    def keep(self, folder: Path, network: nn.Module, facts: dict[str, Any]) -> None:
        """Save the batch, the weights it met and the facts, to be replayed.

        What an earlier failure left in ``folder`` would mislead, and goes.
        """
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        batch = self.documents.batch(self.places)
        save_file(_flat(batch), folder / "batch.safetensors")
        save_file(_whole(network.state_dict()), folder / "weights.safetensors")
        ids = [str(self.documents.ids[place]) for place in self.places]
        (folder / "fault.json").write_text(json.dumps({**facts, "documents": ids}, indent=2))


def _range(logits: Tensor) -> str:
    finite = logits[logits.isfinite()]
    known = (
        f"from {finite.min():.3g} to {finite.max():.3g}" if len(finite) else "none of them finite"
    )
    odd = {"NaN": int(logits.isnan().sum()), "infinite": int(logits.isinf().sum())}
    return ", ".join(
        [f"logits {known}", *(f"{number} {kind}" for kind, number in odd.items() if number)]
    )


def _largest(sizes: Tensor) -> list[int]:
    return [int(place) for place in sizes.topk(min(NAMED, len(sizes))).indices]


def _flat(batch: dict[str, Any]) -> dict[str, Tensor]:
    parts = {**batch["inputs"], "targets": batch["targets"], **batch["context"]}
    return {name: part.contiguous() for name, part in parts.items()}


def _whole(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: weight.detach().cpu().clone() for name, weight in state.items()}
