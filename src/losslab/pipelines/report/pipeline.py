"""metrics and histories of every loss - comparison table, figures, report page."""

from collections.abc import Iterable

from kedro.pipeline import Node, Pipeline

from losslab.parameters import namespace
from losslab.pipelines.report import nodes

PAGE = (
    "comparison",
    "group_scores",
    "learning_curves",
    "label_statistics",
    "corpus_table",
    "corpus_summary",
)
CORPUS_FIGURES = ("long_tail", "cooccurrence_map", "labels_per_document", "document_lengths")


def create_pipeline(losses: Iterable[str]) -> Pipeline:
    """The report on ``losses``."""
    names = list(losses)
    metrics = {name: f"{namespace(name)}.metrics" for name in names}
    histories = {name: f"{namespace(name)}.history" for name in names}
    return Pipeline(
        [
            *_corpus_nodes(),
            Node(nodes.compare_losses, metrics, "comparison", name="compare_losses"),
            Node(nodes.draw_groups, metrics, "group_scores", name="draw_groups"),
            Node(nodes.draw_curves, histories, "learning_curves", name="draw_curves"),
            Node(
                nodes.render_report,
                {name: name for name in (*PAGE, *CORPUS_FIGURES)}
                | {"dataset": "params:dataset", "recipe": "params:recipe"},
                "report_page",
                name="render_report",
            ),
        ],
        tags="report",
    )


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
