"""One of several processes of a training: ``python -m losslab.training.worker FOLDER [FAILURES]``."""

import logging
import os
import sys
import traceback
import warnings
from pathlib import Path

import torch
from torch import distributed

from losslab.errors import NonFiniteLossError
from losslab.training.events import listening
from losslab.training.job import TrainingJob, run_here
from losslab.training.launch import read_training_data, tell, write_fitted
from losslab.training.processes import process_rank


def main(folder: Path, failures: Path | None) -> int:
    """Train the job in ``folder`` together with the other processes."""
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group("nccl" if cuda else "gloo")
    try:
        job = Job.model_validate_json((folder / "job.json").read_text())
        _train(job, folder, failures if process_rank() == 0 else None)
    except Exception as error:  # noqa: BLE001 - whatever it is, the launcher tells it
        _leave_word(error, folder)
        return 1
    finally:
        distributed.destroy_process_group()
    return 0


def _train(job: TrainingJob, folder: Path, failures: Path | None) -> None:
    """Train; a loss that is not finite is a result, too.

    All processes meet it at once, and torchrun ends them all when one fails: the others must not,
    while the first still writes down what happened.
    """
    leads = process_rank() == 0
    with listening(tell if leads else lambda event: None):
        try:
            fitted = run_here(job, read_training_data(folder), failures)
        except NonFiniteLossError as error:
            if leads:
                (folder / "non_finite.txt").write_text(str(error))
            return
    if leads:
        write_fitted(fitted, folder)


def _leave_word(error: Exception, folder: Path) -> None:
    """What went wrong, for the launcher; torchrun would cut it off."""
    told = [*traceback.format_exception_only(error), *traceback.format_exception(error)]
    (folder / f"error_{process_rank()}.txt").write_text("".join(told))


def _speak_if_first() -> None:
    """Let the first process alone warn: the others would say the same."""
    leads = os.environ.get("RANK", "0") == "0"
    logging.basicConfig(level=logging.WARNING if leads else logging.ERROR)
    if not leads:
        warnings.simplefilter("ignore")


if __name__ == "__main__":
    _speak_if_first()
    places = [Path(word) for word in sys.argv[1:]]
    sys.exit(main(places[0], places[1] if len(places) > 1 else None))
