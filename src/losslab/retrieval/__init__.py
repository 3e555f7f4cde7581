"""Question-answer retrieval: splits, soft targets of a batch, search, metrics, two-tower training."""

from losslab.retrieval.metrics import (
    compare_methods,
    evaluate_ranks,
    rank_metrics,
    resample_ranks,
)
from losslab.retrieval.questions import (
    QuestionRows,
    article_splits,
    count_by_split,
    question_rows,
)
from losslab.retrieval.search import bm25_ranks, positive_ranks
from losslab.retrieval.soft_targets import (
    FactoredTargets,
    SmoothedTargets,
    keyword_factors,
    tfidf_factors,
)

__all__ = [
    "FactoredTargets",
    "QuestionRows",
    "SmoothedTargets",
    "article_splits",
    "bm25_ranks",
    "compare_methods",
    "count_by_split",
    "evaluate_ranks",
    "keyword_factors",
    "positive_ranks",
    "question_rows",
    "rank_metrics",
    "resample_ranks",
    "tfidf_factors",
]
