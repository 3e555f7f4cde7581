"""The runs of ``kedro search``: studies checked, trials, then default and tuned losses compared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from losslab.errors import LosslabError
from losslab.evaluation import grid_values
from losslab.hooks import RunPart
from losslab.losses import LOSSES
from losslab.parameters import (
    LossSettings,
    Recipe,
    SearchSettings,
    Sweep,
    SweepJob,
    ThresholdGrid,
    expand_sweep,
    losses_for_task,
    namespace,
    refuse_retrieval,
)
from losslab.parameters.sweeps import SweepPoint
from losslab.pipeline_registry import create_registry
from losslab.reporting.search_page import (
    DEFAULT,
    STATES,
    TUNED,
    best_settings,
    describe_settings,
)
from losslab.runners.code import code_hashes
from losslab.sweep_runs import Parameters, SweepRun, open_catalog, running

NAME = "search"
"""The pipeline of searches, and the tag of its runs."""


@dataclass(frozen=True)
class SearchRun:
    """A search on a dataset with a recipe: ``given`` is what the command line sets."""

    given: Parameters
    parameters: Parameters
    losses: list[str]
    check: Callable[[Parameters], Parameters]
    project: Path
    options: Mapping[str, Any]

    @classmethod
    def create(
        cls,
        check: Callable[[Parameters], Parameters],
        project: Path,
        options: Mapping[str, Any],
    ) -> "SearchRun":
        """The search with what the command line sets; raise ParameterError at a mistake."""
        given = options["params"]
        parameters = check(given)
        refuse_retrieval(parameters["task"], "search")
        losses = list(
            parameters["losses"] or losses_for_task(parameters["task"], parameters["modality"])
        )
        return cls(given, parameters, losses, check, project, options)

    def prepare_studies(self, *, fresh: bool) -> None:
        """Stop at a study of another search; if ``fresh``, remove studies in place of that."""
        from losslab.search import refuse_other_search, remove_search, study_file

        folder: Path = open_catalog(self.project, self.options, self.given).load("studies")
        for loss in self.losses:
            file = study_file(folder, loss)
            if fresh:
                remove_search(file)
            elif file.exists():
                refuse_other_search(file, self._facts(loss))

    def _facts(self, loss: str) -> dict[str, Any]:
        """What a study of a loss depends on, but the data."""
        from losslab.search import describe_search
        from losslab.training.job import TrainingJob, run_job, with_learning_rate

        given = self.parameters
        settings = LossSettings.model_validate(given[namespace(loss)])
        grid = given["threshold_grid"] and ThresholdGrid.model_validate(given["threshold_grid"])
        job = TrainingJob(
            loss=settings,
            recipe=with_learning_rate(
                Recipe.model_validate(given["recipe"]), settings.learning_rate
            ),
            frequencies=(),
            documents=0,
            mu=None,
            frequency_groups={},
            grid=grid_values(settings, grid),
            **{name: given[name] for name in ("task", "select_by", "validation_rule", "seed")},
        )
        code = code_hashes(run_job, LOSSES[loss])
        return describe_search(job, SearchSettings.model_validate(given["search"]), code)

    def run_trials(
        self, run: Callable[..., Any], *, fresh: bool
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """By loss: its search; and why those failed that did. ``fresh``: trials are done anew."""
        names = {f"{namespace(loss)}_search": loss for loss in self.losses}
        part = RunPart({NAME: "trials"}, frozenset(names))
        failed: dict[str, str] = {}
        with running(part):
            try:
                if fresh:  # what trials are prepared from is not
                    run(self.given, NAME, to_outputs=self._prepared())
                more = {"from_nodes": self._nodes(), "fresh": True} if fresh else {}
                run(self.given, NAME, **more)
            except LosslabError as error:
                if not part.datasets:
                    raise
                reason = " ".join(str(error).split())
                lost = [loss for name, loss in names.items() if name not in part.datasets]
                failed = dict.fromkeys(lost, reason)
        return {loss: part.datasets[n] for n, loss in names.items() if n in part.datasets}, failed

    def _nodes(self) -> list[str]:
        return [f"{NAME}.{namespace(loss)}.{NAME}" for loss in self.losses]

    def _prepared(self) -> list[str]:
        """The datasets that trials are done with, as far as nodes make them."""
        pipeline = create_registry(
            self.parameters["task"],
            self.losses,
            soft_zlpr=self.parameters["soft_labels"]["soft_zlpr"],
            modality=self.parameters["modality"],
        )[NAME]
        searches = pipeline.only_nodes(*self._nodes())
        return sorted(searches.inputs() & pipeline.all_outputs())

    def compare(self, searches: Mapping[str, Any]) -> tuple[SweepRun, list[SweepJob]]:
        """The sweep of two points that ends a search: tuned, then default, whose results stay newest."""
        tuned = {
            f"{namespace(loss)}.{name}": value
            for loss, search in searches.items()
            for name, value in best_settings(search).items()
        }
        points = [SweepPoint(label=TUNED, params=tuned), SweepPoint(label=DEFAULT, params={})]
        losses = list(searches)
        title = "Tuned against default settings"
        facts = {"name": NAME, "title": title, "losses": losses, "points": points}
        sweep = Sweep.model_validate(facts)
        given = {**self.given, "losses": losses}
        compared = SweepRun(sweep, given, self.check(given), losses, None, self.check)
        recipe = self.parameters["recipe"]["name"]
        return compared, expand_sweep(sweep, recipe=recipe, losses=losses, baseline=None)


def list_searches(searches: Mapping[str, Any]) -> list[dict[str, str]]:
    """A row per loss: trials, default and best on validation, what is best."""
    rows = []
    for loss, search in searches.items():
        states = [trial["state"] for trial in search["trials"]]
        counts = (f"{states.count(state)} {state}" for state in STATES if state in states)
        default = search["default"]["value"]
        rows.append(
            {
                "loss": loss,
                "trials": ", ".join(counts),
                f"default, validation {search['metric']}": "-"
                if default is None
                else f"{default:.4f}",
                "best": f"{search['best']['value']:.4f}",
                "settings": describe_settings(best_settings(search)) or DEFAULT,
            }
        )
    return rows


def gather_results(
    compared: Mapping[str, Any], searches: Mapping[str, Any], failed: Mapping[str, str]
) -> dict[str, Any]:
    """What a report is made of: the sweep's results, default first, and the searches by loss."""
    jobs = sorted(compared["jobs"], key=lambda job: job["label"] != DEFAULT)
    return {**compared, "jobs": jobs, "search": dict(searches), "failed": dict(failed)}
