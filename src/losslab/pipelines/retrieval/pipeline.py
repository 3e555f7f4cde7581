"""raw files - questions, candidates - towers per loss - ranks - metrics - comparison, page."""

from collections.abc import Sequence

from kedro.pipeline import Node, Pipeline

from losslab.errors import GATHERS
from losslab.parameters import namespace
from losslab.pipelines.evaluation.nodes import record_conditions
from losslab.pipelines.reporting.nodes import describe_run
from losslab.pipelines.retrieval import nodes

RETRIEVAL = "retrieval"
TEACHER = "ce"
"""The loss whose logits are the soft targets of ``ls_distill``: hard labels."""
SUPERVISION = {
    "ls_classic": {"eps": "params:soft_labels.eps"},
    "ls_distill": {"factors": f"{namespace(TEACHER)}_training_logits"},
    "ls_tfidf": {
        "factors": "tfidf_question_relevance",
        "candidate_factors": "tfidf_candidate_relevance",
    },
    "kwls": {
        "factors": "word_question_relevance",
        "candidate_factors": "word_candidate_relevance",
    },
}
"""What the soft targets of a loss are made of; hard labels need nothing."""
REFERENCES = ("bm25", "zero_shot")
"""Methods that are not trained on the corpus."""
TEXTS = {"candidates": "split_candidates", "questions": "split_questions"}
MODEL = {
    "recipe": "params:recipe",
    "two_tower": "params:retrieval.two_tower",
    "features": "features",
    **TEXTS,
}


def create_pipeline(losses: Sequence[str]) -> Pipeline:
    """Train each loss, rank and evaluate it beside the references, and report."""
    trained = sum((_loss(loss) for loss in losses), Pipeline([]))
    if "ls_distill" in losses:
        trained += _training(TEACHER) + _teaching()
    compared = [namespace(loss) for loss in losses] + [f"{name}_reference" for name in REFERENCES]
    upstream = create_data() + create_features() + _conditions()
    return upstream + trained + _references() + _report(compared)


def create_data() -> Pipeline:
    """Read a question-answer corpus and split it by article."""
    return _stage(
        "data",
        Node(
            nodes.parse_questions,
            ["raw_files", "params:dataset", "params:reader", "params:corpus"],
            ["rejected_rows", "corpus_notes", "candidates", "questions"],
            name="parse_questions",
        ),
        Node(
            nodes.split_questions,
            [
                "candidates",
                "questions",
                "corpus_notes",
                "params:max_rejected",
                "params:question_split",
            ],
            ["split_candidates", "split_questions", "question_counts"],
            name="split_questions",
        ),
    )


def create_features() -> Pipeline:
    """What towers read, and what soft targets are made of."""
    embed = Node(
        nodes.embed_texts,
        ["split_candidates", "split_questions", "params:retrieval.zero_shot"],
        "zero_shot_embeddings",
        name="embed_texts",
    )
    compute = Node(
        nodes.compute_features,
        {
            **TEXTS,
            "embeddings": "zero_shot_embeddings",
            "encoder": "params:retrieval.zero_shot",
            "settings": "params:features",
        },
        ["features", "tokenizer"],
        name="compute_features",
    )
    relate = Node(
        nodes.relate_words,
        ["split_candidates", "split_questions", "params:keywords", "params:soft_labels"],
        [
            "word_question_relevance",
            "word_candidate_relevance",
            "tfidf_question_relevance",
            "tfidf_candidate_relevance",
        ],
        name="relate_words",
    )
    return _stage("features", embed, compute) + _stage("supervision", relate)


def _stage(name: str, *stage: Node) -> Pipeline:
    return Pipeline(stage, namespace=name, prefix_datasets_with_namespace=False, tags=name)


def _of_method(method: str, *own: Node) -> Pipeline:
    return Pipeline(
        own,
        namespace=f"{RETRIEVAL}.{method}",
        prefix_datasets_with_namespace=False,
        tags=[method, RETRIEVAL],
    )


def _loss(loss: str) -> Pipeline:
    """Train a loss, rank and evaluate."""
    name = namespace(loss)
    rank = Node(
        nodes.rank,
        {**MODEL, "model": f"{name}_model"},
        f"{name}_ranks",
        name="rank",
        tags="evaluation",
    )
    made = {"history": f"{name}_history", "conditions": "conditions"}
    return _training(loss) + _of_method(name, rank, *_evaluate(name, made))


def _training(loss: str) -> Pipeline:
    name = namespace(loss)
    inputs = {
        "loss": f"params:{name}",
        **MODEL,
        "recall_at": "params:retrieval.recall_at",
        "seed": "params:seed",
        "num_seeds": "params:num_seeds",
        "failures": "failures",
        "checkpoints": "checkpoints",
        **SUPERVISION.get(loss, {}),
    }
    node = Node(
        nodes.train, inputs, [f"{name}_model", f"{name}_history"], name="train", tags="training"
    )
    return _of_method(name, node)


def _teaching() -> Pipeline:
    name = namespace(TEACHER)
    node = Node(
        nodes.encode_training,
        {**MODEL, "model": f"{name}_model"},
        f"{name}_training_logits",
        name="encode_training",
        tags="distillation",
    )
    return _of_method(name, node)


def _conditions() -> Pipeline:
    """parameters - conditions, the same for every loss."""
    node = Node(
        record_conditions,
        {
            "corpus_notes": "corpus_notes",
            "dataset": "params:dataset",
            "recipe": "params:recipe",
            "task": "params:task",
            "split": "params:question_split",
            "two_tower": "params:retrieval.two_tower",
        },
        "conditions",
        name="record_conditions",
        tags="evaluation",
    )
    return _stage(RETRIEVAL, node)


def _evaluate(method: str, made: dict[str, str]) -> list[Node]:
    evaluate = Node(
        nodes.evaluate,
        {
            "ranks": f"{method}_ranks",
            "recall_at": "params:retrieval.recall_at",
            "bootstrap": "params:bootstrap",
            **made,
        },
        [f"{method}_metrics", f"{method}_resamples"],
        name="evaluate",
        tags="evaluation",
    )
    collect = Node(
        nodes.collect_results,
        [f"{method}_metrics", f"{method}_resamples"],
        f"{method}_results",
        name="collect_results",
        tags="report",
    )
    return [evaluate, collect]


def _references() -> Pipeline:
    """BM25 and an encoder that is not trained, through the same evaluation."""
    bm25 = Node(
        nodes.rank_bm25,
        {**TEXTS, "bm25": "params:retrieval.bm25", "keywords": "params:keywords"},
        "bm25_reference_ranks",
        name="rank",
    )
    zero_shot = Node(
        nodes.rank_zero_shot,
        {"embeddings": "zero_shot_embeddings", **TEXTS},
        "zero_shot_reference_ranks",
        name="rank",
    )
    return sum(
        (
            _of_method(name, node, *_evaluate(name, {}))
            for name, node in (("bm25_reference", bm25), ("zero_shot_reference", zero_shot))
        ),
        Pipeline([]),
    )


def _report(methods: Sequence[str]) -> Pipeline:
    report = [
        Node(
            nodes.compare,
            {"report": "params:report", **{method: f"{method}_results" for method in methods}},
            ["retrieval_comparison", "failed_losses"],
            name="compare",
            tags=GATHERS,
        ),
        Node(nodes.draw_recall, "retrieval_comparison", "retrieval_figure", name="draw_recall"),
        Node(
            describe_run,
            ["provenance", "retrieval_comparison"],
            "retrieval_run",
            name="describe_run",
        ),
        Node(
            nodes.render_page,
            {
                "comparison": "retrieval_comparison",
                "figure": "retrieval_figure",
                "failed_losses": "failed_losses",
                "corpus": "question_counts",
                "run_description": "retrieval_run",
                "dataset": "params:dataset",
                "recipe": "params:recipe",
                "two_tower": "params:retrieval.two_tower",
                "report": "params:report",
            },
            "retrieval_page",
            name="render_page",
        ),
    ]
    return Pipeline(
        report,
        namespace=RETRIEVAL,
        prefix_datasets_with_namespace=False,
        tags=[RETRIEVAL, "report"],
    )
