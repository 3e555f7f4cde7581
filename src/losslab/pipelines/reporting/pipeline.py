"""metrics, histories and scores of every loss - tables, figures, report page."""

from collections.abc import Iterable

from kedro.pipeline import Node, Pipeline

from losslab.parameters import namespace
from losslab.pipelines.losses.pipeline import for_loss
from losslab.pipelines.reporting import nodes, similar_nodes

RESULT_FIGURES = (
    "group_scores",
    "ranks",
    "label_scatter",
    "similar_labels",
    "precision_recall",
    "learning_time",
    "learning_curves",
    "training_curves",
    "sorted_scores",
    "reliability",
)
PAGE = (
    "comparison",
    "standings",
    "training_table",
    "score_profiles",
    "label_scores",
    "label_statistics",
    "corpus_table",
    "corpus_summary",
    "run_description",
    "decision_rules",
)


def create_pipeline(losses: Iterable[str]) -> Pipeline:
    """The report on ``losses``."""
    names = list(losses)
    inputs = {name: name for name in (*PAGE, *RESULT_FIGURES, *nodes.CORPUS_FIGURES)}
    inputs |= {f"errors_{name}": f"{namespace(name)}.errors" for name in names}
    parameters = {name: f"params:{name}" for name in ("dataset", "recipe", "report")}
    return Pipeline(
        [
            *_corpus_nodes(),
            *(_profile(name) for name in names),
            *(_find_errors(name) for name in names),
            *_table_nodes(names),
            *_figure_nodes(),
            *_similar_nodes(names),
            Node(nodes.describe_run, "params:dataset", "run_description", name="describe_run"),
            Node(nodes.render_report, inputs | parameters, "report_page", name="render_report"),
        ],
        tags="report",
    )


def create_paper_tables() -> Pipeline:
    """The papers' tables beside ours."""
    return Pipeline(
        [
            Node(
                nodes.compare_with_papers,
                ["reports", "corpora"],
                "paper_tables",
                name="compare_with_papers",
            )
        ]
    )


def _profile(loss: str) -> Node:
    """What one loss's scores look like: a node per loss, as all scores may not fit into memory."""
    own = namespace(loss)
    return Node(
        for_loss(loss, nodes.profile_scores),
        [f"{own}.scores", f"{own}.thresholds", "targets", "documents"],
        f"{own}.profile",
        name="profile",
        namespace=own,
    )


def _find_errors(loss: str) -> Node:
    own = namespace(loss)
    data = ["targets", "documents", "label_space", "label_statistics", "label_groups"]
    return Node(
        nodes.find_errors,
        [f"{own}.scores", f"{own}.thresholds", *data],
        f"{own}.errors",
        name="find_errors",
        namespace=own,
    )


def _table_nodes(losses: list[str]) -> list[Node]:
    def each(dataset: str) -> dict[str, str]:
        return {name: f"{namespace(name)}.{dataset}" for name in losses}

    return [
        Node(
            nodes.compare_losses,
            {
                "report": "params:report",
                "data_fingerprint": "data_fingerprint",
                **each("metrics"),
            },
            "comparison",
            name="compare_losses",
        ),
        Node(
            nodes.compare_uncertainty,
            {
                "comparison": "comparison",
                "report": "params:report",
                **{f"metrics_{name}": dataset for name, dataset in each("metrics").items()},
                **{f"resamples_{name}": dataset for name, dataset in each("resamples").items()},
            },
            "uncertainty",
            name="compare_uncertainty",
        ),
        Node(
            nodes.rank_losses,
            ["comparison", "uncertainty", "params:report"],
            "standings",
            name="rank_losses",
        ),
        Node(nodes.gather_rules, each("metrics"), "decision_rules", name="gather_rules"),
        Node(nodes.gather_trainings, each("history"), "training_table", name="gather_trainings"),
        Node(nodes.gather_profiles, each("profile"), "score_profiles", name="gather_profiles"),
    ]


def _figure_nodes() -> list[Node]:
    return [
        Node(nodes.draw_standings, "standings", ["group_scores", "ranks"], name="draw_standings"),
        Node(
            nodes.draw_trainings,
            "training_table",
            ["learning_curves", "learning_time", "training_curves"],
            name="draw_trainings",
        ),
        Node(
            nodes.draw_scores,
            "score_profiles",
            ["sorted_scores", "reliability", "precision_recall"],
            name="draw_scores",
        ),
        Node(
            nodes.compare_labels,
            ["score_profiles", "label_table", "label_space", "comparison", "params:report"],
            ["label_scores", "label_scatter"],
            name="compare_labels",
        ),
    ]


def _similar_nodes(losses: list[str]) -> list[Node]:
    results = {
        f"{name}_{kind}": f"{namespace(name)}.{kind}"
        for name in similar_nodes.COMPARED
        if name in losses
        for kind in ("scores", "thresholds")
    }
    shared = {name: name for name in ("documents", "targets", "label_space")}
    return [
        Node(
            similar_nodes.draw_similar,
            ["label_scores", "label_space", "label_groups", "comparison", "params:report"],
            "similar_labels",
            name="draw_similar",
        ),
        Node(similar_nodes.tabulate_cases, shared | results, "cases", name="tabulate_cases"),
    ]


def _corpus_nodes() -> list[Node]:
    return [
        Node(nodes.draw_tail, "label_table", "long_tail", name="draw_tail"),
        Node(
            nodes.draw_cooccurrence_map,
            ["label_cooccurrence", "label_space"],
            "cooccurrence_map",
            name="draw_cooccurrence_map",
        ),
        Node(
            nodes.draw_counts,
            ["documents", "targets"],
            ["labels_per_document", "document_lengths"],
            name="draw_counts",
        ),
    ]
