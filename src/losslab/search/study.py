"""A study: the trials of one loss, one after the other, in a file that a killed search continues.

The file holds finished trials alone, in the order of their numbers. The next one is sampled from
them with a seed of its own number, so that a search ends with the same trials however often it was
stopped, and a trial that was under way is begun again with the same settings.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

import joblib
import optuna
from filelock import FileLock, Timeout
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from losslab.errors import LosslabError, NonFiniteLossError, SearchError
from losslab.evaluation import training_facts
from losslab.evaluation.comparability import condition_differences
from losslab.parameters import SearchSettings
from losslab.parameters.variants import flatten
from losslab.search.space import Dimension, search_space, split_settings
from losslab.training.checkpoint import Checkpoints
from losslab.training.events import EpochEnded, Event, TrialEnded, diverted, publish
from losslab.training.fit import Fitted
from losslab.training.job import TrainingData, TrainingJob, run_job, with_learning_rate

optuna.logging.set_verbosity(optuna.logging.ERROR)
logger = logging.getLogger(__name__)
STATES = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
}
FACTS, SETTINGS, REASON = "facts", "settings", "reason"
MAX_NAMED = 3
"""Differences named in an error."""


def study_file(folder: Path, loss: str) -> Path:
    """The file of a loss's study."""
    return folder / f"{loss}.journal"


def describe_search(
    job: TrainingJob, settings: SearchSettings, code: Mapping[str, str]
) -> dict[str, Any]:
    """All that the trials of a study depend on but the data, as plain data.

    ``trials`` is no part of it: a study can go on. Nor are label statistics: they are data.
    """
    rate = job.recipe.training.learning_rate
    space = search_space(job.loss, rate, settings.learning_rate)
    judged = {"grid", "select_by", "validation_rule", "task", "seed"}
    return {
        "space": {each.name: each.describe() for each in space},
        "loss": job.loss.settings,
        "recipe": job.recipe.model_dump(mode="json"),
        **job.model_dump(mode="json", include=judged),
        "search": settings.model_dump(mode="json", exclude={"trials"}),
        "code": dict(code),
    }


def refuse_other_search(file: Path, facts: Mapping[str, Any]) -> None:
    """Raise SearchError if ``file`` holds a study that differs in one of ``facts``."""
    if file.exists():
        with _opened(file) as study:
            _refuse_other(file, study.user_attrs.get(FACTS, {}), facts)


def remove_search(file: Path) -> None:
    """Remove a study, unless another search has it open."""
    if file.exists():
        with _opened(file):
            file.unlink()


def run_search(
    job: TrainingJob,
    data: TrainingData,
    settings: SearchSettings,
    file: Path,
    code: Mapping[str, str],
    checkpoints: Checkpoints | None = None,
) -> dict[str, Any]:
    """Do the trials that the study of a loss lacks; all of them, the default and the best one.

    Each is a training with the job's seed, valued by the best epoch's ``select_by`` on validation.
    The earlier one wins a tie, so that nothing is chosen that is no better than the default.
    """
    facts = {**describe_search(job, settings, code), "data": _hash(data)}
    space = search_space(job.loss, job.recipe.training.learning_rate, settings.learning_rate)
    with _opened(file) as study:
        if FACTS not in study.user_attrs:
            study.set_user_attr(FACTS, facts)
        _refuse_other(file, study.user_attrs[FACTS], facts)
        for trial in study.get_trials()[: settings.trials]:
            publish(_event(job, trial, current=True))
        while len(done := study.get_trials()) < settings.trials:
            study.add_trial(_run_trial(job, data, space, settings, done, checkpoints))
            publish(_event(job, study.get_trials()[-1], current=False))
        return _summarise(job, study.get_trials()[: settings.trials])


def _hash(data: TrainingData) -> str:
    """A hash of all that is trained and validated on."""
    parts = {name: value for name, value in vars(data).items() if name != "ids"}
    return str(joblib.hash(parts, hash_name="sha1"))


@contextmanager
def _opened(file: Path) -> Iterator[optuna.Study]:
    """The study in ``file``, which no other search has open."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file.with_suffix(".lock"))
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise SearchError(f"another search has {file} open: wait until it has ended") from None
    try:
        Path(f"{file}.lock").unlink(missing_ok=True)  # Optuna's, of a killed process
        _cut_torn_line(file)
        storage = JournalStorage(JournalFileBackend(str(file)))
        yield optuna.create_study(
            study_name=file.stem, storage=storage, direction="maximize", load_if_exists=True
        )
    finally:
        file.with_suffix(".lock").unlink(missing_ok=True)
        lock.release()


def _cut_torn_line(file: Path) -> None:
    """Remove a last line that a kill left without its end."""
    content = file.read_bytes() if file.exists() else b""
    if content and not content.endswith(b"\n"):
        os.truncate(file, content.rfind(b"\n") + 1)


def _refuse_other(file: Path, known: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    other = {name: known[name] for name in facts if name in known}
    differing = condition_differences(flatten(other), flatten(facts))
    if differing:
        more = f" and {len(differing) - MAX_NAMED} more" if len(differing) > MAX_NAMED else ""
        raise SearchError(
            f"{file} holds another search: {'; '.join(differing[:MAX_NAMED])}{more}. Repeat it with "
            "what it was begun with, or begin anew by kedro search --fresh"
        )


def _run_trial(
    job: TrainingJob,
    data: TrainingData,
    space: Sequence[Dimension],
    settings: SearchSettings,
    done: Sequence[FrozenTrial],
    checkpoints: Checkpoints | None,
) -> FrozenTrial:
    """Sample the next trial from those that are done, train, and tell how it ended."""
    trial, started = _ask(job, space, settings, done), monotonic()
    tried = {each.name: each.suggest(trial) for each in space}
    loss = job.loss.model_copy(update=split_settings({**job.loss.options, **tried}))
    recipe = with_learning_rate(job.recipe, loss.learning_rate)
    curve: dict[int, float] = {}
    outcome: dict[str, Any]
    try:
        with diverted(_pruner(trial, job.select_by, curve)):
            tried_job = job.model_copy(update={"loss": loss, "recipe": recipe})
            fitted = run_job(tried_job, data, None, checkpoints)
        outcome = _outcome(fitted, job.seed)
    except optuna.TrialPruned:
        outcome = {"state": TrialState.PRUNED, "value": max(curve.values())}
    except NonFiniteLossError as error:
        outcome = {"state": TrialState.FAIL, REASON: str(error)}
    if checkpoints is not None:
        checkpoints.clear()
    state, value = outcome.pop("state"), outcome.pop("value", None)
    seconds = round(monotonic() - started, 3)
    return create_trial(
        state=state,
        value=value,
        params=trial.params,
        distributions=trial.distributions,
        user_attrs={SETTINGS: tried, "seconds": seconds, **outcome},
        intermediate_values=curve,
    )


def _ask(
    job: TrainingJob,
    space: Sequence[Dimension],
    settings: SearchSettings,
    done: Sequence[FrozenTrial],
) -> Trial:
    """The next trial, in memory: it depends on the trials that are done and on its number alone."""
    seed = int(sha256(f"{job.seed} {job.loss.name} {len(done)}".encode()).hexdigest()[:8], 16)
    startup = settings.startup_trials
    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup, multivariate=False),
        pruner=optuna.pruners.MedianPruner(startup, n_warmup_steps=settings.warmup_steps),
    )
    study.add_trials(done)
    if not done:
        study.enqueue_trial({name: v for each in space for name, v in each.enqueued().items()})
    return study.ask()


def _pruner(trial: Trial, select_by: str, curve: dict[int, float]) -> Callable[[Event], None]:
    """Fills ``curve`` with the best metric so far by step; raises where the trial is hopeless."""

    def listen(event: Event) -> None:
        if isinstance(event, EpochEnded):
            value, step = (
                event.metrics[f"validation_{select_by}"],
                int(event.metrics["train_steps"]),
            )
            curve[step] = max(value, *curve.values()) if curve else value
            trial.report(curve[step], step)
            if trial.should_prune():
                raise optuna.TrialPruned

    return listen


def _outcome(fitted: Fitted, seed: int) -> dict[str, Any]:
    """The value of a finished training, and what marks it."""
    history = fitted.history
    best = history.loc[history["epoch"] == fitted.best_epoch, f"validation_{fitted.select_by}"]
    facts = training_facts(fitted.full_history(seed))
    told = {name: facts[name] for name in ("best_epoch", "epochs", "steps", "ended_by", "mark")}
    return {"state": TrialState.COMPLETE, "value": float(best.iloc[0]), **told}


def _event(job: TrainingJob, trial: FrozenTrial, *, current: bool) -> TrialEnded:
    reason = trial.user_attrs.get(REASON, "")
    state, value = STATES[trial.state], trial.value
    if not current:
        shown = reason if value is None else f"{value:.4f}"
        logger.info("%s, trial %d: %s, %s", job.loss.name, trial.number, state, shown)
    return TrialEnded(
        job.loss.name,
        job.seed,
        trial.number,
        state,
        value,
        job.select_by,
        trial.user_attrs[SETTINGS],
        trial.intermediate_values,
        reason,
        current,
    )


def _summarise(job: TrainingJob, trials: Sequence[FrozenTrial]) -> dict[str, Any]:
    """All trials as plain data, the default and the best one."""
    rows = [
        {
            "number": trial.number,
            "state": STATES[trial.state],
            "value": trial.value,
            **trial.user_attrs,
            "curve": {str(step): value for step, value in trial.intermediate_values.items()},
        }
        for trial in trials
    ]
    complete = [row for row in rows if row["state"] == "complete"]
    if not complete:
        raise LosslabError(f"{job.loss.name}: no trial was completed; {rows[0].get(REASON)}")
    best = max(complete, key=lambda row: (row["value"], -row["number"]))
    return {
        "loss": job.loss.name,
        "metric": job.select_by,
        "seed": job.seed,
        "default": rows[0],
        "best": best,
        "trials": rows,
    }
