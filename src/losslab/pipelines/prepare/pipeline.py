"""raw files - parse - documents - split - targets, features."""

from kedro.pipeline import Node, Pipeline

from losslab.pipelines.prepare import nodes


def create_pipeline() -> Pipeline:
    """Everything that does not depend on a loss, from raw files to features."""
    return Pipeline(
        [
            Node(
                nodes.parse_corpus,
                ["raw_files", "params:dataset", "params:reader", "params:corpus"],
                ["rejected_rows", "corpus_notes", "parsed_documents"],
                name="parse_corpus",
            ),
            Node(
                nodes.split_documents,
                [
                    "parsed_documents",
                    "corpus_notes",
                    "params:dataset",
                    "params:max_rejected",
                    "params:min_label_frequency",
                    "params:split",
                    "params:unbalance",
                ],
                ["documents", "split_notes"],
                name="split_documents",
            ),
            Node(
                nodes.encode_targets,
                ["documents", "params:task"],
                ["label_space", "targets"],
                name="encode_targets",
            ),
            Node(
                nodes.compute_features,
                ["documents", "params:recipe", "params:recipes"],
                ["features", "tokenizer"],
                name="compute_features",
            ),
        ],
        tags="prepare",
    )
