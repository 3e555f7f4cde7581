"""One of several processes of a training: ``python -m losslab.training.worker FOLDER [FAILURES]``."""

import logging
import os
import sys
from pathlib import Path

import torch
from torch import distributed

from losslab.training.errors import NonFiniteLossError
from losslab.training.events import listening
from losslab.training.job import Job, run_here
from losslab.training.launch import read_material, tell, write_fitted
from losslab.training.processes import process_rank


def main(folder: Path, failures: Path | None) -> int:
    """Train the job in ``folder`` together with the other processes."""
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group("nccl" if cuda else "gloo")
    try:
        job = Job.model_validate_json((folder / "job.json").read_text())
        return _train(job, folder, failures if process_rank() == 0 else None)
    finally:
        distributed.destroy_process_group()


def _train(job: Job, folder: Path, failures: Path | None) -> int:
    leads = process_rank() == 0
    with listening(tell if leads else lambda event: None):
        try:
            fitted = run_here(job, read_material(folder), failures)
        except NonFiniteLossError as error:
            if leads:
                (folder / "non_finite.txt").write_text(str(error))
            return 1
    if leads:
        write_fitted(fitted, folder)
    return 0


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    places = [Path(word) for word in sys.argv[1:]]
    sys.exit(main(places[0], places[1] if len(places) > 1 else None))
