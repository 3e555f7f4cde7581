"""Raw files to questions and candidates, trained towers, ranks, metrics, a comparison and its page."""

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from plotly import graph_objects as go
from scipy import sparse

from losslab.data import check_rejected
from losslab.data.corpus_summary import summary_lines
from losslab.data.download.raw_folder import is_sample
from losslab.data.readers import READERS
from losslab.errors import CorpusError, Failure, LosslabError
from losslab.evaluation import fingerprint, summarise_trainings
from losslab.parameters import (
    BM25Settings,
    BootstrapSettings,
    FeatureSettings,
    FrozenEncoder,
    KeywordSettings,
    LossSettings,
    QuestionSplitSettings,
    Recipe,
    ReportSettings,
    SoftLabelSettings,
    TwoTowerSettings,
    frozen_encoder,
    method_of,
)
from losslab.reporting import retrieval_page

Arrays = dict[str, np.ndarray]
NO_SEED = "0"
"""Of a reference, which has no training."""
logger = logging.getLogger(__name__)


def parse_questions(
    raw_files: Path, dataset: str, reader: str | None, options: dict[str, Any]
) -> tuple[pd.DataFrame, dict[str, Any], pd.DataFrame, pd.DataFrame]:
    """Read the raw files: rejected rows, notes on the reading, candidates and questions."""
    corpus = READERS[reader or dataset](raw_files, **options)
    if corpus.questions is None:
        raise CorpusError(f"'{dataset}' has no questions to retrieve for: run --dataset=squad")
    notes = {**corpus.summary(), "sample": is_sample(raw_files)}
    counts = f"{len(corpus.questions):,} questions, {len(corpus.documents):,} candidates"
    logger.info("%s: %s", dataset, "; ".join([counts, *summary_lines(notes)]))
    return corpus.rejected, notes, corpus.documents, corpus.questions


def split_questions(
    candidates: pd.DataFrame,
    questions: pd.DataFrame,
    corpus_notes: dict[str, Any],
    max_rejected: float,
    split: QuestionSplitSettings,
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """Assign train, validation and test by article; candidates, questions, and their numbers."""
    from losslab.retrieval import article_splits, count_by_split

    check_rejected(corpus_notes, limit=max_rejected, details="rejected_rows")
    of_questions, of_candidates = article_splits(questions, candidates, **split.model_dump())
    questions = questions.assign(split=of_questions)
    candidates = candidates.assign(split=of_candidates)
    sizes = count_by_split(questions, candidates)
    for name, counts in sizes.items():
        logger.info("%s: %s", name, ", ".join(f"{n:,} {what}" for what, n in counts.items()))
    read = {key: corpus_notes[key] for key in ("sample", "notes", "rejected", "excluded")}
    return candidates, questions, {**read, "splits": sizes}


def embed_texts(
    candidates: pd.DataFrame, questions: pd.DataFrame, encoder: FrozenEncoder
) -> Arrays:
    """Embeddings of all texts by an encoder that is not trained: the reference zero_shot."""
    from losslab.features.compute import embed_texts
    from losslab.features.encoder import encoder_tokenizer
    from losslab.retrieval.questions import all_texts

    tokenizer = encoder_tokenizer(encoder.backbone, encoder.max_length)
    return {"embeddings": embed_texts(all_texts(questions, candidates), tokenizer, encoder)}


def compute_features(
    candidates: pd.DataFrame,
    questions: pd.DataFrame,
    embeddings: Arrays,
    encoder: FrozenEncoder,
    settings: FeatureSettings,
) -> tuple[Arrays, dict[str, Any]]:
    """What the recipe's model reads of all texts, and the tokenizer, learned from training texts.

    ``embeddings`` are those of ``encoder``; a recipe with the same frozen encoder takes them.
    """
    from losslab.features.compute import compute_features, learn_tokenizer
    from losslab.retrieval.questions import all_texts

    train = (table[table["split"] == "train"] for table in (questions, candidates))
    tokenizer = learn_tokenizer(settings.model, all_texts(*train))
    known = embeddings["embeddings"] if frozen_encoder(settings.model) == encoder else None
    texts = all_texts(questions, candidates)
    features = compute_features(settings.model, texts, tokenizer, known)
    return features, json.loads(tokenizer.to_str())


def relate_words(
    candidates: pd.DataFrame,
    questions: pd.DataFrame,
    keywords: KeywordSettings,
    soft_labels: SoftLabelSettings,
) -> tuple[sparse.csr_array, ...]:
    """Relevance of words to training questions and candidates: of KWLS, then of LS-TFIDF."""
    from losslab.retrieval import keyword_factors, question_rows, tfidf_factors
    from losslab.retrieval.questions import all_texts
    from losslab.supervision import count_words

    train = question_rows(questions, candidates, "train")
    tables = (table[table["split"] == "train"] for table in (questions, candidates))
    counts, _ = count_words(all_texts(*tables), **keywords.tokenization)
    of_candidates, of_questions = counts[: len(train.candidates)], counts[len(train.candidates) :]
    constants = keywords.model_dump(include={"k1", "b", "k2"})
    return (
        *keyword_factors(of_questions, of_candidates, train.positives, **constants),
        *tfidf_factors(of_questions, of_candidates, train.positives, tf=soft_labels.tf),
    )


def train(
    loss: LossSettings,
    recipe: Recipe,
    two_tower: TwoTowerSettings,
    recall_at: list[int],
    features: Arrays,
    candidates: pd.DataFrame,
    questions: pd.DataFrame,
    seed: int,
    num_seeds: int,
    failures: Path,
    checkpoints: Any = None,
    eps: float | None = None,
    factors: Any = None,
    candidate_factors: Any = None,
) -> tuple[Arrays, pd.DataFrame]:
    """Train the two-tower model once per seed: weights of the best epoch, metrics of each.

    Args:
        eps: of classic smoothing.
        factors, candidate_factors: whose product the soft targets of training questions are made
            of; those of distillation hold both.
    """
    from losslab.retrieval import FactoredTargets, SmoothedTargets, question_rows
    from losslab.retrieval.training import TowerData, TowerJob, train_towers
    from losslab.training.job import run_seeds, with_learning_rate

    rows = question_rows(questions, candidates, "train")
    soft_targets: Any = None
    if eps is not None:
        soft_targets = SmoothedTargets(rows.positives, eps)
    elif isinstance(factors, dict):
        soft_targets = FactoredTargets(factors["questions"], factors["candidates"])
    elif factors is not None:
        soft_targets = FactoredTargets(factors, candidate_factors)
    validation = question_rows(questions, candidates, "validation")
    ids = np.array([*candidates["id"], *questions["id"]])
    job = TowerJob(
        loss=loss,
        recipe=with_learning_rate(recipe, loss.learning_rate),
        two_tower=two_tower,
        recall_at=tuple(recall_at),
    )
    data = TowerData(features, rows, validation, ids, soft_targets)
    seeds = range(seed, seed + num_seeds)
    return run_seeds(job, data, seeds, failures / loss.name, checkpoints, train_towers)


def encode_training(
    recipe: Recipe,
    two_tower: TwoTowerSettings,
    model: Arrays,
    features: Arrays,
    candidates: pd.DataFrame,
    questions: pd.DataFrame,
) -> Arrays:
    """What the first seed of hard labels teaches: factors of its logits on the training split."""
    from losslab.retrieval import question_rows
    from losslab.retrieval.training import encode_texts
    from losslab.training.job import seeds_of, weights_of

    rows = question_rows(questions, candidates, "train")
    weights = weights_of(model, seeds_of(model)[0])
    encoded = encode_texts(recipe, two_tower, features, weights, rows.questions, rows.candidates)
    return {"questions": two_tower.scale * encoded[0], "candidates": encoded[1]}


def rank(
    recipe: Recipe,
    two_tower: TwoTowerSettings,
    model: Arrays,
    features: Arrays,
    candidates: pd.DataFrame,
    questions: pd.DataFrame,
) -> Arrays:
    """Of each seed, the rank of each test question's positive among all candidates of the split."""
    from losslab.retrieval import positive_ranks, question_rows
    from losslab.retrieval.training import encode_texts
    from losslab.training.job import seeds_of, weights_of

    rows, ranks = question_rows(questions, candidates, "test"), {}
    for seed in seeds_of(model):
        weights = weights_of(model, seed)
        encoded = encode_texts(
            recipe, two_tower, features, weights, rows.questions, rows.candidates
        )
        ranks[str(seed)] = positive_ranks(encoded[0], encoded[1], rows.positives)
    return ranks


def rank_zero_shot(embeddings: Arrays, candidates: pd.DataFrame, questions: pd.DataFrame) -> Arrays:
    """The ranks by an encoder that was not trained on the corpus."""
    from losslab.retrieval import positive_ranks, question_rows

    rows, vectors = question_rows(questions, candidates, "test"), embeddings["embeddings"]
    ranks = positive_ranks(vectors[rows.questions], vectors[rows.candidates], rows.positives)
    return {NO_SEED: ranks}


def rank_bm25(
    candidates: pd.DataFrame, questions: pd.DataFrame, bm25: BM25Settings, keywords: KeywordSettings
) -> Arrays:
    """The ranks by BM25; words are those of ``keywords``."""
    from losslab.retrieval import bm25_ranks, question_rows
    from losslab.retrieval.questions import all_texts
    from losslab.supervision import find_words

    texts = all_texts(questions, candidates)
    rows = question_rows(questions, candidates, "test")
    queries, documents = (
        [[word for word, *_ in find_words(texts[row], **keywords.tokenization)] for row in part]
        for part in (rows.questions, rows.candidates)
    )
    return {NO_SEED: bm25_ranks(queries, documents, rows.positives, **bm25.model_dump())}


def evaluate(
    ranks: Arrays,
    recall_at: list[int],
    bootstrap: BootstrapSettings,
    history: pd.DataFrame | None = None,
    conditions: dict[str, Any] | None = None,
) -> tuple[dict[str, Any], Arrays]:
    """Recall@k and MRR by seed and over seeds, and of bootstrap resamples of the questions.

    ``history`` and ``conditions`` are of a training; a reference has none.
    """
    from losslab.retrieval import evaluate_ranks

    by_seed = {seed: ranks[seed] for seed in sorted(ranks, key=int)}
    metrics, resamples = evaluate_ranks(by_seed, recall_at, **bootstrap.model_dump())
    if history is not None and conditions is not None:
        recorded = {"conditions": conditions, "fingerprint": fingerprint(conditions)}
        metrics |= {"training": summarise_trainings(history), **recorded}
    return metrics, resamples


def collect_results(metrics: dict[str, Any], resamples: Arrays) -> dict[str, Any]:
    """What the comparison needs of a method."""
    return {"metrics": metrics, "resamples": resamples}


def compare(
    report: ReportSettings, **results: dict[str, Any] | Failure
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Every method beside the reference, and why methods failed; ``results`` by method."""
    from losslab.retrieval import compare_methods

    failed = {method_of(k): v.reason for k, v in results.items() if isinstance(v, Failure)}
    finished = {method_of(k): v for k, v in results.items() if not isinstance(v, Failure)}
    if not finished:
        raise LosslabError(f"no method has a result: {'; '.join(failed.values())}")
    table = compare_methods(
        {name: result["metrics"] for name, result in finished.items()},
        {name: result["resamples"] for name, result in finished.items()},
        reference=report.reference,
        confidence=report.confidence,
    )
    return table, failed


def draw_recall(comparison: pd.DataFrame) -> go.Figure:
    """Recall@k and MRR of every method with intervals."""
    return retrieval_page.draw_recall(comparison)


def render_page(
    comparison: pd.DataFrame,
    figure: go.Figure,
    failed_losses: dict[str, str],
    corpus: dict[str, Any],
    run_description: dict[str, Any],
    dataset: str,
    recipe: Recipe,
    two_tower: TwoTowerSettings,
    report: ReportSettings,
) -> str:
    """The page of the comparison."""
    run = retrieval_page.RetrievalRunPart(
        dataset=dataset,
        recipe=recipe.name,
        reference=report.reference,
        confidence=report.confidence,
        resamples=report.resamples,
        negatives=two_tower.negatives,
        batch_size=recipe.training.batch_size,
        **run_description,
    )
    return retrieval_page.render_retrieval(comparison, figure, corpus, failed_losses, run)
