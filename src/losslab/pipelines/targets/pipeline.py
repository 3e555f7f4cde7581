"""targets - label statistics, frequency groups, co-occurrence, the table of the corpus."""

from kedro.pipeline import Node, Pipeline

from losslab.pipelines.targets import nodes


def create_pipeline() -> Pipeline:
    """What losses and metrics know of the labels besides the targets."""
    return Pipeline(
        [
            Node(
                nodes.compute_label_statistics,
                ["targets", "label_space", "documents", "params:frequency_groups"],
                ["label_statistics", "label_table"],
                name="compute_label_statistics",
            ),
            Node(
                nodes.describe_corpus,
                ["documents", "targets", "corpus_notes", "split_notes"],
                ["corpus_table", "corpus_summary"],
                name="describe_corpus",
            ),
            Node(
                nodes.count_cooccurrence,
                ["targets", "documents"],
                "label_cooccurrence",
                name="count_cooccurrence",
            ),
            Node(
                nodes.fingerprint_corpus,
                ["documents", "targets", "label_space"],
                "data_fingerprint",
                name="fingerprint_corpus",
            ),
        ],
        tags="targets",
    )
