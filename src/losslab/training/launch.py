"""A training in several DDP processes, started by ``torch.multiprocessing``."""

import logging
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import RLock
from traceback import format_exception_only

import joblib
import torch
from torch import distributed
from torch.multiprocessing.spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    start_processes,
)
from tqdm import tqdm

from losslab.errors import NonFiniteLossError, TrainingFailedError
from losslab.temporary import scratch_folder
from losslab.training.checkpoint import TrainingCheckpoints
from losslab.training.events import listening, publish
from losslab.training.fit import Fitted
from losslab.training.job import TrainingData, TrainingJob, run_here

OUTCOME = "outcome"
GRACE_PERIOD = 5.0
"""Seconds the other processes get to end by themselves when one has failed."""


def run_in_processes(
    job: TrainingJob,
    data: TrainingData,
    failures: Path | None,
    checkpoints: TrainingCheckpoints | None,
) -> Fitted:
    """Train in the recipe's number of processes; their events are published here.

    Data and outcome are temporary files: the processes share the pages of one copy.
    """
    processes = job.recipe.training.processes
    _check_devices(job)
    with scratch_folder() as scratch:
        folder = Path(scratch)
        joblib.dump(data, folder / "data")
        threads = max(1, torch.get_num_threads() // processes)
        receiver, sender = get_context("spawn").Pipe(duplex=False)
        arguments = (processes, threads, job, folder, failures, checkpoints, sender)
        start: Callable[..., ProcessContext] = start_processes
        context = start(_run_rank, arguments, processes, join=False, daemon=True)
        try:
            _publish_events(context, receiver)
        except ProcessException as error:
            if not (folder / OUTCOME).exists():  # gloo may abort a process that is done
                raise TrainingFailedError(
                    f"{job.loss.name}, seed {job.seed}: a training process failed: "
                    f"{_first_error(error, folder)}"
                ) from error
        finally:
            _terminate(context)
        outcome: Fitted | NonFiniteLossError = joblib.load(folder / OUTCOME)
    if isinstance(outcome, NonFiniteLossError):
        raise outcome
    return outcome


def _check_devices(job: TrainingJob) -> None:
    processes, gpus = job.recipe.training.processes, torch.cuda.device_count()
    if torch.cuda.is_available() and processes > gpus:
        raise TrainingFailedError(
            f"recipes.{job.recipe.name}.training.processes is {processes}, and each needs a GPU of "
            f"its own: found {gpus}; ask for no more processes than GPUs"
        )


def _publish_events(context: ProcessContext, receiver: Connection) -> None:
    """Publish events until all processes have ended; raise ``ProcessException`` if one fails."""
    ended = False
    while not ended:
        wait([receiver, *context.sentinels])
        while receiver.poll():
            publish(receiver.recv())
        ended = context.join(timeout=0, grace_period=GRACE_PERIOD)
    while receiver.poll():
        publish(receiver.recv())


def _terminate(context: ProcessContext) -> None:
    for process in context.processes:
        process.kill()
        process.join()


def _first_error(error: Exception, folder: Path) -> str:
    """What ended the first process, in one line: others may have failed in consequence."""
    files = sorted(folder.glob("error_*"), key=lambda path: path.stat().st_mtime_ns)
    raised = files and not isinstance(error, ProcessExitedException)
    return " ".join((files[0].read_text() if raised else str(error)).split())


def _run_rank(
    rank: int,
    processes: int,
    threads: int,
    job: TrainingJob,
    folder: Path,
    failures: Path | None,
    checkpoints: TrainingCheckpoints | None,
    events: Connection,
) -> None:
    """One DDP process: train; rank 0 reports."""
    torch.set_num_threads(threads)
    tqdm.set_lock(RLock())  # tqdm's own is a semaphore, which leaks when the process is killed
    if rank > 0:  # the same warnings as rank 0's
        logging.disable(logging.WARNING)
        warnings.simplefilter("ignore")
    try:
        _join_group(rank, processes, folder)
        outcome = _train(job, folder, failures if rank == 0 else None, checkpoints, events)
        if rank == 0:
            joblib.dump(outcome, folder / f"{OUTCOME}.part")
            (folder / f"{OUTCOME}.part").replace(folder / OUTCOME)
    except Exception as error:
        (folder / f"error_{rank}").write_text("".join(format_exception_only(error)))
        raise
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


def _join_group(rank: int, processes: int, folder: Path) -> None:
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(rank)
    distributed.init_process_group(
        "nccl" if cuda else "gloo",
        init_method=f"file://{folder}/rendezvous",
        rank=rank,
        world_size=processes,
    )


def _train(
    job: TrainingJob,
    folder: Path,
    failures: Path | None,
    checkpoints: TrainingCheckpoints | None,
    events: Connection,
) -> Fitted | NonFiniteLossError:
    """A non-finite loss is an outcome: every rank raises it, and none must end the others."""
    data = joblib.load(folder / "data", mmap_mode="c")
    with listening(events.send):
        try:
            return run_here(job, data, failures, checkpoints)
        except NonFiniteLossError as error:
            return error
