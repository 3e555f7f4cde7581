"""The dataset that says where the results of a run come from."""

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, DatasetError


class ProvenanceDataset(AbstractDataset[None, dict[str, Any]]):
    """Command, commit and versions of this run; ``filepath`` is the project's folder.

    It makes no result stale: what was computed by another command is the same.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._project = Path(filepath)
        self.metadata = metadata

    def load(self) -> dict[str, Any]:
        """``command``, ``commit``, ``dirty`` (None without a repository) and ``versions``."""
        from losslab.tracking.provenance import describe_run

        return describe_run(self._project)

    def save(self, data: None) -> None:
        """Raise DatasetError: provenance is an input."""
        raise DatasetError("provenance is an input: no node returns it")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"project": str(self._project)}
