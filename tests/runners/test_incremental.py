"""The incremental runner on a small pipeline: what runs again, and what a failure costs."""

import logging

import pytest
from kedro.framework.hooks.manager import _create_hook_manager
from kedro.io import DataCatalog, DatasetError, MemoryDataset, Version
from kedro.pipeline import Node, Pipeline

from losslab.datasets import FoldMetricsDataset, JSONDataset
from losslab.errors import (
    GATHERS,
    FailedNodesError,
    Failure,
    LineageError,
    NotApplicableError,
    Skipped,
)
from losslab.manifest import Lineage, Provenance
from losslab.runners import IncrementalRunner, RunPlan
from losslab.runners.fingerprint import explain, refuse_other_parameters

CALLS = []


def read(factor):
    CALLS.append("read")
    return {"numbers": [factor, 2]}


def square(numbers, power):
    CALLS.append("square")
    return {"total": sum(n**power for n in numbers["numbers"])}


def halve(numbers):
    CALLS.append("halve")
    if numbers["numbers"][0] == 99:
        raise NotApplicableError("99 numbers, most is 98")
    if numbers["numbers"][0] < 0:
        raise ZeroDivisionError("negative")
    return {"total": numbers["numbers"][0] // 2}


def collect(total):
    CALLS.append("collect")
    return total


def gather(**results):
    CALLS.append("gather")
    return results


def report(results):
    CALLS.append("report")
    return {name: str(value) for name, value in results.items()}


def branch(function, name, *inputs):
    return Pipeline(
        [
            Node(function, ["numbers", *inputs], f"{name}_total", name="total"),
            Node(collect, f"{name}_total", f"{name}_result", name="collect"),
        ],
        namespace=f"all.{name}",
        prefix_datasets_with_namespace=False,
        tags="training",
    )


PIPELINE = (
    Pipeline([Node(read, "params:factor", "numbers", name="read")])
    + branch(square, "square", "params:power")
    + branch(halve, "halve")
    + Pipeline(
        [
            Node(gather, {n: f"{n}_result" for n in ("square", "halve")}, "results", tags=GATHERS),
            Node(report, "results", "report", name="report"),
        ]
    )
)
MEMORY = ("square_result", "halve_result", "results")


class Runs:
    """Runs of the pipeline, one after the other, in one folder."""

    def __init__(self, folder):
        self.folder, self.count = folder, 0

    def catalog(self, **parameters):
        self.count += 1
        version = Version(None, f"2026-01-01T00.00.00.{self.count:03d}Z")
        values = {"factor": 3, "power": 2, **parameters}
        return DataCatalog(
            {
                "parameters": MemoryDataset(values),
                **{f"params:{name}": MemoryDataset(value) for name, value in values.items()},
                **{name: MemoryDataset() for name in MEMORY},
                **{
                    name: JSONDataset(filepath=str(self.folder / f"{name}.json"), version=version)
                    for name in ("numbers", "square_total", "halve_total", "report")
                },
            }
        )

    def __call__(self, pipeline=PIPELINE, fresh=False, **parameters):
        """Run, and return which functions were called."""
        self.last = self.catalog(**parameters)
        CALLS.clear()
        IncrementalRunner(fresh=fresh).run(pipeline, self.last, _create_hook_manager(), "run")
        return list(CALLS)

    def explain(self, pipeline=PIPELINE, **parameters):
        return RunPlan(pipeline, self.catalog(**parameters)).explain()

    def load(self, name):
        return self.last.get(name).load()


@pytest.fixture
def run(tmp_path):
    return Runs(tmp_path)


ALL = ["read", "square", "halve", "collect", "collect", "gather", "report"]


def test_second_run_computes_nothing(run):
    assert sorted(run()) == sorted(ALL)
    assert run() == []
    assert run.load("report") == {"square": "{'total': 13}", "halve": "{'total': 1}"}


def test_fresh_run_computes_everything(run):
    run()
    assert sorted(run(fresh=True)) == sorted(ALL)


def chain(name):
    """A branch of three nodes that save what they make."""
    steps = [("numbers", f"{name}_total"), (f"{name}_total", f"{name}_2"), (f"{name}_2", name)]
    nodes = [Node(collect, *step, name=f"{name}.{n}") for n, step in enumerate(steps, start=1)]
    return Pipeline(nodes, tags="training")


def test_one_branch_is_finished_before_the_next(run, caplog):
    """Kedro's own order goes through all branches step by step."""
    caplog.set_level(logging.DEBUG, "losslab")
    branches = Pipeline([Node(read, "params:factor", "numbers", name="read")]) + chain("a")
    pipeline = branches + chain("b")
    names = [f"{branch}.{step}" for branch in "ab" for step in (1, 2, 3)]
    assert [node.name for node in pipeline.nodes] == ["read", *sorted(names, key=lambda n: n[2])]
    catalog = run.catalog()
    version = catalog.get("numbers")._version
    for name in pipeline.all_outputs() - {"numbers"}:
        catalog[name] = JSONDataset(filepath=str(run.folder / f"{name}.json"), version=version)
    IncrementalRunner().run(pipeline, catalog, _create_hook_manager(), "run")
    done = [line.split()[2] for line in caplog.messages if line.startswith("Completed node: ")]
    assert done == ["read", *names]


def test_changed_parameter_runs_what_depends_on_it(run):
    run()
    assert sorted(run(power=3)) == sorted(["square", "collect", "collect", "gather", "report"])


def test_outputs_that_come_out_the_same_leave_the_rest_current(run):
    run(power=2)
    one = run.load("square_total")
    # 3**1 + 2**1 differs from 13: the report runs; back to 2, an older version is taken up again
    assert "report" in run(power=1)
    assert run(power=2) == []
    assert run.load("square_total") == one
    assert (
        run.last.get("square_total").latest.read_text()
        == run.last.get("square_total").file(run.last.get("square_total").versions()[0]).read_text()
    )


def test_recomputed_input_with_the_same_content_stops_the_wave(run):
    run()
    (run.folder / "numbers.json").rename(run.folder / "gone")
    assert run() == ["read"]


@pytest.mark.parametrize("name", ["numbers", "square_total", "report"])
def test_broken_output_is_computed_again_and_told(run, caplog, name):
    run()
    file = run.last.get(name)._load_file()
    file.write_bytes(file.read_bytes()[:-1] + b" ")
    assert run.explain()[{"numbers": "read", "square_total": "square"}.get(name, name)].startswith(
        f"stale: {file} is broken"
    )
    with caplog.at_level(logging.WARNING):
        calls = run()
    assert {"numbers": "read", "square_total": "square", "report": "report"}[name] in calls
    assert f"passed over: {file} is broken" in caplog.text
    assert run() == []


def test_reason_names_the_parameter_that_a_user_sets():
    old, new = (Provenance(parameters={"validation_rule": rule}) for rule in ("tuned", "own"))
    assert explain(old, new) == "parameter primary_rule (on validation) tuned -> own"
    with pytest.raises(LineageError, match=r"with primary_rule \(on validation\) tuned"):
        refuse_other_parameters("model", Lineage({}, old.parameters), {"validation_rule": "own"})


def test_reasons_name_what_changed(run):
    run()
    assert set(run.explain().values()) == {"current"}
    told = run.explain(power=3)
    assert told["square"] == "stale: parameter power 2 -> 3"
    assert told["halve"] == told["read"] == "current"
    assert told["report"] == "stale: input results is computed again"
    told = run.explain(factor=4)
    assert told["read"] == "stale: parameter factor 3 -> 4"
    assert told["halve"] == "stale: input numbers is computed again"


def test_missing_output_is_told(run):
    assert run.explain()["read"] == "stale: numbers is missing"


def test_changed_code_is_told_by_module(run, monkeypatch):
    run()
    hashes = {"losslab.losses.balanced": "before"}
    monkeypatch.setattr("losslab.runners.fingerprint.code_hashes", lambda *_: hashes)
    run()
    hashes = {"losslab.losses.balanced": "after"}
    assert run.explain()["read"] == "stale: code of losslab.losses.balanced changed"


def test_failed_branch_costs_nothing_else(run):
    with pytest.raises(FailedNodesError, match=r"all\.halve\.total: ZeroDivisionError: negative"):
        run(factor=-3)
    assert {"square", "gather", "report"} <= set(CALLS)
    assert run.load("report") == {
        "square": "{'total': 13}",
        "halve": str(Failure("all.halve.total", "ZeroDivisionError: negative")),
    }


def test_branch_that_does_not_apply_is_left_out_without_an_error(run, caplog):
    with caplog.at_level(logging.INFO):
        run(factor=99)
    assert "halve is left out: 99 numbers, most is 98" in caplog.text
    assert not [
        record
        for record in caplog.records
        if record.name.startswith("losslab") and record.levelno > logging.INFO
    ]
    assert run.load("report") == {
        "square": "{'total': 9805}",
        "halve": str(Skipped("all.halve.total", "99 numbers, most is 98")),
    }
    assert run(factor=99) == ["halve"]  # asked again; the report stays current


def branch_that_fails_in_memory(total):
    raise ZeroDivisionError("in memory")


def test_failure_in_memory_is_told_once_by_its_own_name(run):
    broken = Pipeline(
        [Node(branch_that_fails_in_memory, "halve_total", "halve_result", name="all.halve.collect")]
    )
    rest = PIPELINE - PIPELINE.only_nodes("all.halve.collect")
    with pytest.raises(FailedNodesError) as told:
        run(broken + rest)
    assert str(told.value).count("ZeroDivisionError") == 1
    assert run.load("report")["square"] == "{'total': 13}"
    assert "all.halve.collect" in run.load("report")["halve"]


def test_failed_result_of_an_earlier_run_is_not_taken_for_this_ones(run):
    run(factor=3)
    with pytest.raises(FailedNodesError):
        run(factor=-3)
    part = Pipeline([Node(collect, "halve_total", "report", name="part")])
    with pytest.raises(LineageError, match=r"halve_total: .* failed: ZeroDivisionError: negative"):
        run(part)
    run(factor=3)
    run(part)


def test_result_taken_over_has_the_lineage_of_this_run(run):
    """Inputs that changed and came out the same: what follows belongs to the new ones."""
    run(factor=3)
    read_again = Pipeline([Node(read_and_log, "params:factor", "numbers", name="read")])
    rest = PIPELINE - PIPELINE.only_nodes("read")
    run(read_again + rest, factor=4)
    assert run(read_again + rest, factor=3) == ["read"]
    lineage = run.last.get("report").manifest.provenance.lineage
    assert lineage.parameters["factor"] == 3
    count = len(run.last.get("report").versions())
    run(read_again + rest, factor=3)
    assert len(run.last.get("report").versions()) == count


def read_and_log(factor):
    CALLS.append("read")
    return {"numbers": [3, 2]}


def test_failure_is_tried_again_and_the_rest_stays_current(run):
    for calls in (True, False):
        with pytest.raises(FailedNodesError):
            run(factor=-3)
        assert ("square" in CALLS) == calls
        assert "halve" in CALLS


def fail(factor):
    raise ZeroDivisionError("no numbers")


def test_failure_of_what_every_training_needs_ends_the_run_at_once(run):
    broken = Pipeline([Node(fail, "params:factor", "numbers", name="read")])
    rest = PIPELINE - PIPELINE.only_nodes("read")
    with pytest.raises(ZeroDivisionError):
        run(broken + rest)
    assert CALLS == []


def test_run_of_a_part_takes_what_was_saved_with_its_parameters(run):
    run()
    assert run(PIPELINE.only_nodes("all.square.total"), power=3) == ["square"]
    assert run.load("square_total") == {"total": 3**3 + 2**3}


def test_run_of_a_part_refuses_results_that_are_kept_in_memory_alone(run):
    run()
    with pytest.raises(LineageError, match="halve_result is kept in memory alone"):
        run(PIPELINE.from_nodes("all.square.total"))


def test_run_of_a_part_refuses_inputs_made_with_other_parameters(run):
    run()
    with pytest.raises(LineageError, match="numbers was made with factor 3, this run has 4"):
        run(PIPELINE.only_nodes("all.square.total"), factor=4)


def test_run_of_a_part_takes_an_older_version_that_fits_its_parameters(run):
    run(factor=4)
    run(factor=3)
    run(PIPELINE.only_nodes("all.square.total"), factor=4, power=3)
    assert run.load("square_total") == {"total": 4**3 + 2**3}


def test_inputs_that_do_not_belong_together_are_refused(run):
    """As after an interrupted run: new numbers, and a total of the old ones."""
    run()
    run(PIPELINE.only_nodes("read"), factor=3)
    other = run.catalog()
    other.get("numbers").provenance = run.last.get("numbers").manifest.provenance
    other.get("numbers").save({"numbers": [5, 5]})
    check = Pipeline([Node(lambda a, b: {}, ["numbers", "square_total"], "report", name="check")])
    with pytest.raises(LineageError, match="made with different numbers"):
        run(check)


def test_version_of_something_that_the_run_computes_is_refused(run):
    run()
    catalog = run.catalog()
    version = Version("2026-01-01T00.00.00.001Z", None)
    catalog["numbers"] = JSONDataset(filepath=str(run.folder / "numbers.json"), version=version)
    with pytest.raises(LineageError, match="--load-versions names numbers"):
        RunPlan(PIPELINE, catalog)
    RunPlan(PIPELINE.only_nodes("all.square.total"), catalog)


COMPARE = Pipeline([Node(report, "fold_metrics", "report", name="compare")])


@pytest.fixture
def save_fold(tmp_path):
    def save(fold, power, version="1", loss="bce"):
        file = tmp_path / f"folds/fold={fold}/probe/{loss}_loss/metrics.json"
        dataset = JSONDataset(filepath=str(file), version=Version(None, version))
        upstream = Lineage(parameters={"power": power, "split.fold": fold})
        dataset.provenance = Provenance(lineage=upstream)
        dataset.save({"power": power})

    return save


def compare_folds(run, **parameters):
    catalog = run.catalog(**{"split.fold": 1, "losses": None, **parameters})
    catalog["fold_metrics"] = FoldMetricsDataset(filepath=f"{run.folder}/folds/fold=*/probe")
    IncrementalRunner().run(COMPARE, catalog, _create_hook_manager(), "run")
    return catalog.get("report")


def test_folds_made_with_other_parameters_are_refused(run, save_fold):
    save_fold(1, power=2)
    save_fold(2, power=3)
    with pytest.raises(LineageError, match="bce, fold 2 was made with power 3, this run has 2"):
        compare_folds(run, power=2)


def test_folds_of_another_cross_validation_are_passed_over(run, save_fold):
    for fold in (1, 2):
        save_fold(fold, power=2, version="1")
        save_fold(fold, power=3, version="2")
    made = compare_folds(run, power=2)
    assert made.load() == {"bce": str({1: {"power": 2}, 2: {"power": 2}})}
    lineage = made.manifest.provenance.lineage
    assert lineage.parameters["power"] == 2
    assert "split.fold" not in lineage.parameters
    assert {"bce, fold 1", "bce, fold 2"} <= set(lineage.datasets)


def test_folds_of_losses_that_are_not_compared_may_differ(run, save_fold):
    save_fold(1, power=2)
    save_fold(1, power=3, loss="db")
    compare_folds(run, power=2, losses=["bce"])
    with pytest.raises(LineageError, match="db, fold 1 was made with power 3"):
        compare_folds(run, power=2, losses=["bce", "db"])


def test_what_was_never_saved_is_named(run):
    with pytest.raises(LineageError, match="no numbers was saved so far"):
        run(PIPELINE.only_nodes("all.square.total"))


def test_other_runs_versions_are_not_read(run):
    """A run that saves between our save and our load changes nothing for us."""
    mine, other = run.catalog(factor=3), run.catalog(factor=7)
    mine.get("numbers").save({"numbers": [3, 2]})
    other.get("numbers").save({"numbers": [7, 2]})
    assert mine.load("numbers") == {"numbers": [3, 2]}


def test_full_disk_ends_the_run_at_once(run, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("losslab.datasets.checked.rename_synced", full)
    with pytest.raises(DatasetError, match="No space left on device"):
        run()
    assert CALLS == ["read"]


def test_manifest_tells_what_a_result_was_made_of(run):
    run(power=3)
    made = run.last.get("square_total").manifest.provenance
    assert made.node == "all.square.total"
    assert made.parameters == {"power": 3}
    assert made.lineage.parameters == {"power": 3, "factor": 3}
    numbers = run.last.get("numbers").manifest
    assert made.inputs == made.lineage.datasets == {"numbers": numbers.sha256[:16]}
    assert made.run["id"] == "run"
    assert {"git_commit", "git_dirty", "device", "versions", "command"} <= set(made.run)
