"""A trained loss or baseline as one object, and the labels it gives new texts."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from losslab.inference import model as trained
from losslab.inference.model import TrainedModel
from losslab.parameters import KeywordSettings, LossSettings, PredictSettings


def assemble_model(
    method: LossSettings,
    model: dict[str, np.ndarray],
    vocabulary: dict[str, Any],
    label_space: list[str],
    decision_rules: dict[str, Any],
    metrics: dict[str, Any],
    label_statistics: dict[str, Any],
    corpus_summary: dict[str, Any],
    corpus_table: pd.DataFrame,
    task: str,
    keywords: KeywordSettings,
    settings: PredictSettings,
    provenance: dict[str, Any],
    recipe: Any = None,  # of baselines none; other nodes have it typed
) -> TrainedModel:
    """All that new texts need of one seed, the best on validation unless a seed is chosen."""
    return trained.assemble_model(
        method,
        model,
        vocabulary,
        label_space,
        decision_rules,
        metrics,
        label_statistics=label_statistics,
        corpus={"summary": corpus_summary, "splits": corpus_table.to_dict("records")},
        task=task,
        recipe=recipe,
        words=keywords.tokenization,
        seed=settings.seed,
        provenance=provenance,
    )


def label_texts(trained_model: TrainedModel, texts: Path, settings: PredictSettings) -> Any:
    """Labels of new texts (``LabelledRows``), made while they are saved."""
    from losslab.inference.classifier import Classifier
    from losslab.inference.text_files import LabelledRows, TextFile

    return LabelledRows(
        Classifier(trained_model),
        TextFile(texts, settings.text, settings.id),
        rule=settings.rule,
        top=settings.top,
        explain=settings.explain,
        max_words=settings.max_words,
    )


def draw_explanations(trained_model: TrainedModel, texts: Path, settings: PredictSettings) -> str:
    """The page of the first explained texts."""
    from losslab.inference.explanation_page import render_explanations

    rows = label_texts(trained_model, texts, settings)
    title = f"Why these labels: {trained_model.facts.method.name}, {texts.name}"
    return render_explanations(rows, title=title)
