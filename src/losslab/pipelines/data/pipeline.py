"""raw files - documents - splits - label matrix."""

from kedro.pipeline import Node, Pipeline

from losslab.pipelines.data import nodes


def create_pipeline() -> Pipeline:
    """Read, split and encode a corpus."""
    return Pipeline(
        [*_parsing_nodes(), *_describing_nodes()],
        namespace="data",
        prefix_datasets_with_namespace=False,
        tags="data",
    )


def _parsing_nodes() -> list[Node]:
    return [
        Node(
            nodes.parse_corpus,
            ["raw_files", "params:dataset", "params:reader", "params:corpus"],
            ["rejected_rows", "corpus_notes", "documents"],
            name="parse_corpus",
        ),
        Node(
            nodes.split_documents,
            [
                "documents",
                "corpus_notes",
                "params:max_rejected",
                "params:min_label_frequency",
                "params:split",
                "params:undersample",
            ],
            ["splits", "split_notes"],
            name="split_documents",
        ),
        Node(
            nodes.encode_label_sets,
            ["splits", "params:task"],
            ["label_space", "label_matrix"],
            name="encode_label_sets",
        ),
    ]


def _describing_nodes() -> list[Node]:
    return [
        Node(
            nodes.describe_corpus,
            [
                "splits",
                "label_matrix",
                "corpus_notes",
                "split_notes",
                "params:cardinality_limits",
            ],
            ["corpus_table", "corpus_summary"],
            name="describe_corpus",
        ),
        Node(
            nodes.fingerprint_corpus,
            ["splits", "label_matrix", "label_space"],
            "data_fingerprint",
            name="fingerprint_corpus",
        ),
    ]
