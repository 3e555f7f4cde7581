"""results of all losses - tables, figures - report page."""

from collections.abc import Sequence

from kedro.pipeline import Node, Pipeline

from losslab.pipelines.evaluation import collect_results
from losslab.pipelines.reporting import nodes
from losslab.reporting.plots import CORPUS_PLOTS, RESULT_PLOTS


def create_pipeline(losses: Sequence[str], modality: str = "text") -> Pipeline:
    """The report on ``losses``; of images, cases show them."""
    return collect_results(losses) + _stage(
        [
            *_table_nodes(),
            _disagreements(modality),
            *_figure_nodes(),
            *_label_figure_nodes(),
            *_page_nodes(),
        ],
        tags="report",
    )


def create_soft_label_page() -> Pipeline:
    """soft labels of kwls - a page to look at them."""
    return _stage(
        [
            Node(
                nodes.inspect_soft_labels,
                {
                    "soft_labels": "kwls_loss_soft_targets",
                    "splits": "splits",
                    "label_matrix": "label_matrix",
                    "label_space": "label_space",
                    "vocabulary": "vocabulary",
                    "keyword_table": "keyword_table",
                    "settings": "params:keywords",
                    "dataset": "params:dataset",
                },
                "soft_labels_page",
                name="inspect_soft_labels",
            )
        ],
        tags="kwls_loss",
    )


def create_paper_tables() -> Pipeline:
    """The papers' tables beside ours."""
    return _stage(
        [
            Node(
                nodes.compare_with_papers,
                ["reports", "corpora"],
                "paper_tables",
                name="compare_with_papers",
            )
        ],
        tags="paper_tables",
    )


def _table_nodes() -> list[Node]:
    return [
        Node(nodes.list_failures, "results", "failed_losses", name="list_failures"),
        Node(
            nodes.compare_losses,
            ["results", "params:report", "data_fingerprint"],
            "comparison",
            name="compare_losses",
        ),
        Node(
            nodes.compare_uncertainty,
            ["results", "comparison", "params:report"],
            "uncertainty",
            name="compare_uncertainty",
        ),
        Node(
            nodes.rank_losses,
            ["comparison", "uncertainty"],
            "standings",
            name="rank_losses",
        ),
        Node(
            nodes.gather_tables,
            "results",
            ["rule_table", "training_table", "score_table"],
            name="gather_tables",
        ),
        Node(
            nodes.diagnose_losses,
            {
                "results": "results",
                "splits": "splits",
                "label_matrix": "label_matrix",
                "label_space": "label_space",
                "comparison": "comparison",
                "standings": "standings",
                "corpus_summary": "corpus_summary",
                "label_statistics": "label_statistics",
                "report": "params:report",
            },
            "diagnosis",
            name="diagnose_losses",
        ),
    ]


def _disagreements(modality: str) -> Node:
    inputs = ["results", "splits", "label_matrix", "label_space", "params:report"]
    return Node(
        nodes.list_disagreements,
        [*inputs, "raw_files"] if modality == "image" else inputs,
        ["disagreements", "cases"],
        name="list_disagreements",
    )


def _figure_nodes() -> list[Node]:
    return [
        Node(
            nodes.draw_corpus,
            ["splits", "label_matrix", "label_table", "label_cooccurrence", "label_space"],
            [
                "corpus_long_tail_figure",
                "corpus_cooccurrence_map_figure",
                "corpus_labels_per_document_figure",
                "corpus_document_lengths_figure",
            ],
            name="draw_corpus",
        ),
        Node(
            nodes.draw_standings,
            "standings",
            ["group_scores_figure", "ranks_figure"],
            name="draw_standings",
        ),
        Node(
            nodes.draw_trainings,
            ["training_table", "params:recipe"],
            [
                "learning_curves_figure",
                "learning_time_figure",
                "training_curves_figure",
                "hard_and_soft_loss_figure",
            ],
            name="draw_trainings",
        ),
        Node(
            nodes.draw_scores,
            "score_table",
            [
                "sorted_scores_figure",
                "example_scores_figure",
                "reliability_figure",
                "precision_recall_figure",
            ],
            name="draw_scores",
        ),
    ]


def _label_figure_nodes() -> list[Node]:
    return [
        Node(
            nodes.compare_labels,
            [
                "results",
                "label_table",
                "label_space",
                "label_groups",
                "comparison",
                "params:report",
            ],
            [
                "label_scores",
                "label_scatter_figure",
                "similar_labels_figure",
                "posteriors_figure",
            ],
            name="compare_labels",
        ),
        Node(
            nodes.rank_confusions,
            ["results", "splits", "label_matrix", "label_space", "label_groups", "comparison"],
            ["pooled_confusions", "confused_labels_figure"],
            name="rank_confusions",
        ),
    ]


def _page_nodes() -> list[Node]:
    return [
        Node(
            nodes.describe_run,
            ["provenance", "results"],
            "run_description",
            name="describe_run",
        ),
        Node(
            nodes.render_report,
            {
                "results": "results",
                "comparison": "comparison",
                "standings": "standings",
                "rule_table": "rule_table",
                "training_table": "training_table",
                "label_scores": "label_scores",
                "pooled_confusions": "pooled_confusions",
                "cases": "cases",
                "diagnosis": "diagnosis",
                "label_statistics": "label_statistics",
                "corpus_table": "corpus_table",
                "corpus_summary": "corpus_summary",
                "run_description": "run_description",
                "failed_losses": "failed_losses",
                "dataset": "params:dataset",
                "recipe": "params:recipe",
                "report": "params:report",
                **{name: f"{name}_figure" for name in RESULT_PLOTS},
                **{name: f"corpus_{name}_figure" for name in CORPUS_PLOTS},
            },
            "report_page",
            name="render_report",
        ),
    ]


def _stage(steps: list[Node], tags: str) -> Pipeline:
    return Pipeline(steps, namespace="reporting", prefix_datasets_with_namespace=False, tags=tags)
