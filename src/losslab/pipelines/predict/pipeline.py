"""a trained method, its tokenizer and thresholds - trained model; new texts - predicted labels."""

from kedro.pipeline import Node, Pipeline

from losslab.baselines import BASELINES
from losslab.parameters import namespace
from losslab.pipelines.predict import nodes

PREDICT = "predict"


def create_pipeline(method: str, *, explain: bool = False) -> Pipeline:
    """Label new texts by a loss or baseline; ``explain``: with a page of explanations."""
    reads = ["trained_model", "texts", "params:predict"]
    label = Node(nodes.label_texts, reads, "predicted_labels", name="label_texts")
    draw = Node(nodes.draw_explanations, reads, "explanation_page", name="draw_explanations")
    return assemble(method) + _stage(label, *([draw] if explain else []))


def assemble(method: str) -> Pipeline:
    """The trained model of a loss or baseline, from what its pipeline saved."""
    name, is_baseline = namespace(method), method in BASELINES
    return _stage(
        Node(
            nodes.assemble_model,
            {
                "method": f"params:{name}",
                "model": f"{name}_model",
                "vocabulary": "tfidf_vocabulary" if is_baseline else "tokenizer",
                "label_space": "label_space",
                "decision_rules": f"{name}_decision_rules",
                "metrics": f"{name}_metrics",
                "label_statistics": "label_statistics",
                "corpus_summary": "corpus_summary",
                "corpus_table": "corpus_table",
                "task": "params:task",
                "keywords": "params:keywords",
                "settings": "params:predict",
                "provenance": "provenance",
                **({} if is_baseline else {"recipe": "params:recipe"}),
            },
            "trained_model",
            name="assemble_model",
        )
    )


def _stage(*stage: Node) -> Pipeline:
    return Pipeline(stage, namespace=PREDICT, prefix_datasets_with_namespace=False, tags=PREDICT)
