"""A study: stopped anywhere it ends with the same trials; hopeless ones are pruned; others refused."""

import json
from contextlib import contextmanager
from itertools import count

import numpy as np
import pytest
import torch
from recipe_conf import read_recipe
from scipy import sparse

from losslab.errors import LosslabError, SearchError
from losslab.losses import LOSSES
from losslab.parameters import LossSettings, SearchSettings
from losslab.search import refuse_other_search, remove_search, run_search, study_file
from losslab.search.study import _opened, describe_search
from losslab.supervision import describe_labels
from losslab.training.checkpoint import Checkpoints
from losslab.training.events import EpochEnded, TrialEnded, listening
from losslab.training.job import TrainingData, describe_job, run_job

SEARCH = SearchSettings(trials=5, learning_rate=(0.01, 10.0), startup_trials=2, warmup_steps=10)
CODE = {"losslab.losses": "1"}


class Killed(BaseException):
    """What no handler of the code under test catches."""


def make_job(loss="focal", **training):
    """A search on sixty documents with random embeddings."""
    features = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)
    targets = sparse.csr_array((features[:, :3] > 0.3).astype(np.int8))
    rows = {"train": np.arange(40), "validation": np.arange(40, 60)}
    ids = np.arange(60).astype(str)
    data = TrainingData({"embeddings": features}, targets, **rows, ids=ids)
    short = {"epochs": 6, "patience": 6, "batch_size": 8, "learning_rate": 0.03, **training}
    job = describe_job(
        LossSettings(name=loss, options=LOSSES[loss].defaults()),
        read_recipe("probe", {"hidden_dim": 0}, **short),
        describe_labels(targets[:40]) | {"groups": ["head", "tail", "tail"]},
        "multi",
        labels=tuple("abc"),
        seed=1,
    )
    return job, data


def search(folder, loss="focal", checkpoints=None, changed=None, **settings):
    job, data = make_job(loss)
    job = job.model_copy(update=changed or {})
    file = study_file(folder, loss)
    given = SEARCH.model_copy(update=settings)
    return run_search(job, data, given, file, CODE, checkpoints)


def without_times(found):
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in found["trials"]]
    return json.loads(json.dumps(rows))


@contextmanager
def killed_after(batches):
    """Kill what trains after so many forward passes."""
    passes = count(1)

    def kill(*_):
        if next(passes) == batches:
            raise Killed

    hook = torch.nn.modules.module.register_module_forward_pre_hook(kill)
    try:
        yield
    finally:
        hook.remove()


def test_first_trial_is_an_ordinary_training_with_the_default(tmp_path):
    found = search(tmp_path, trials=1)
    job, data = make_job()
    fitted = run_job(job, data)
    history = fitted.history.set_index("epoch")
    assert found["best"] == found["default"] == found["trials"][0]
    assert found["default"]["value"] == history.loc[fitted.best_epoch, "validation_macro_f1"]
    assert found["default"]["settings"] == {"gamma": 2.0, "learning_rate": 0.03}


@pytest.mark.parametrize("passes", [1, 40, 90, 150])
@pytest.mark.parametrize("resumable", [False, True])
def test_search_that_was_killed_ends_with_the_trials_of_an_undisturbed_one(
    tmp_path, passes, resumable
):
    undisturbed = search(tmp_path / "whole")
    checkpoints = Checkpoints(tmp_path / "checkpoints", 0) if resumable else None
    with pytest.raises(Killed), killed_after(passes):
        search(tmp_path / "killed", checkpoints=checkpoints)
    resumed = search(tmp_path / "killed", checkpoints=checkpoints)
    assert without_times(resumed) == without_times(undisturbed)
    assert len({str(row["settings"]) for row in undisturbed["trials"]}) == SEARCH.trials


def test_more_trials_go_on_with_the_study_and_fewer_are_its_first(tmp_path):
    whole = without_times(search(tmp_path / "whole", trials=6))
    assert without_times(search(tmp_path, trials=3)) == whole[:3]
    assert without_times(search(tmp_path, trials=6)) == whole
    assert without_times(search(tmp_path, trials=3)) == whole[:3]


def test_line_that_a_kill_tore_is_not_read(tmp_path):
    whole = without_times(search(tmp_path / "whole"))
    search(tmp_path, trials=3)
    file = study_file(tmp_path, "focal")
    file.write_bytes(file.read_bytes()[:-20])  # of the third trial
    assert without_times(search(tmp_path)) == whole


def test_hopeless_trial_is_pruned_and_never_the_best(tmp_path):
    found = search(tmp_path, "bce", trials=8, startup_trials=1, warmup_steps=5)
    pruned = [row for row in found["trials"] if row["state"] == "pruned"]
    assert pruned
    for row in pruned:
        steps = list(map(int, row["curve"]))
        earlier = [
            other["curve"][str(steps[-1])]
            for other in found["trials"][: row["number"]]
            if other["state"] == "complete"
        ]
        assert row["curve"][str(steps[-1])] < np.median(earlier)
        assert 5 <= steps[-1] < 30  # after the warm-up, before the budget
    assert found["best"]["state"] == "complete"


def test_nothing_is_pruned_before_the_warm_up_or_among_the_first_trials(tmp_path):
    late = search(tmp_path / "late", "bce", trials=6, startup_trials=1, warmup_steps=1000)
    early = search(tmp_path / "early", "bce", trials=4, startup_trials=4, warmup_steps=0)
    assert {row["state"] for row in [*late["trials"], *early["trials"]]} == {"complete"}


def test_best_is_no_worse_than_the_default_which_wins_a_tie(tmp_path):
    found = search(tmp_path, learning_rate=(0.999, 1.001), trials=3, startup_trials=3)
    complete = [row for row in found["trials"] if row["state"] == "complete"]
    assert found["best"]["value"] == max(row["value"] for row in complete)
    ties = [row["number"] for row in complete if row["value"] == found["best"]["value"]]
    assert found["best"]["number"] == min(ties)


def test_trial_that_becomes_non_finite_has_failed_and_the_others_are_done(tmp_path, monkeypatch):
    compute = LOSSES["focal"].compute
    broken = lambda self, *args: compute(self, *args) * (float("nan") if self.gamma != 2 else 1)  # noqa: E731
    monkeypatch.setattr(LOSSES["focal"], "compute", broken)
    found = search(tmp_path)
    assert [row["state"] for row in found["trials"]] == ["complete", *["failed"] * 4]
    assert "focal, seed 1, step 1: the loss is nan" in found["trials"][1]["reason"]
    monkeypatch.setattr(
        LOSSES["focal"], "compute", lambda self, *args: compute(self, *args) * float("nan")
    )
    with pytest.raises(LosslabError, match="focal: no trial was completed; focal, seed 1"):
        search(tmp_path / "all")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"changed": {"seed": 2}}, "seed is 1, expected 2"),
        ({"changed": {"select_by": "micro_f1"}}, "select_by is macro_f1, expected micro_f1"),
        ({"warmup_steps": 11}, "search.warmup_steps is 10, expected 11"),
        ({"learning_rate": (0.1, 10.0)}, r"space.learning_rate.low is 0.0003, expected 0.003"),
    ],
)
def test_study_of_another_search_is_refused_with_what_differs(tmp_path, changed, message):
    search(tmp_path, trials=1)
    with pytest.raises(SearchError, match=message) as error:
        search(tmp_path, **changed)
    assert "--fresh" in str(error.value)
    assert "\n" not in str(error.value)


def test_study_of_other_data_or_code_is_refused(tmp_path):
    search(tmp_path, trials=1)
    job, data = make_job()
    file = study_file(tmp_path, "focal")
    refuse_other_search(file, describe_search(job, SEARCH, CODE))
    with pytest.raises(SearchError, match=r"code\.losslab\.losses is 1, expected 2"):
        refuse_other_search(file, describe_search(job, SEARCH, {"losslab.losses": "2"}))
    data.features["embeddings"][0, 0] += 1
    with pytest.raises(SearchError, match="data is "):
        run_search(job, data, SEARCH, file, CODE)


def test_trials_are_told_one_by_one_and_their_trainings_are_not(tmp_path):
    events = []
    with listening(events.append):
        search(tmp_path, trials=2)
        search(tmp_path, trials=3)
    assert not [event for event in events if isinstance(event, EpochEnded)]
    told = [(event.number, event.current) for event in events if isinstance(event, TrialEnded)]
    assert told == [(0, False), (1, False), (0, True), (1, True), (2, False)]
    assert events[0].curve[30] == max(events[0].curve.values())


def test_study_is_open_once(tmp_path):
    file = study_file(tmp_path, "focal")
    with _opened(file), pytest.raises(SearchError, match=r"another search has .* open"):
        search(tmp_path)
    search(tmp_path, trials=1)


def test_study_that_is_removed_is_begun_anew_but_not_while_it_is_open(tmp_path):
    first = without_times(search(tmp_path, trials=2))
    file = study_file(tmp_path, "focal")
    with _opened(file), pytest.raises(SearchError, match=r"another search has .* open"):
        remove_search(file)
    remove_search(file)
    assert list(tmp_path.iterdir()) == []
    remove_search(file)
    assert without_times(search(tmp_path, trials=2, warmup_steps=11)) == first
