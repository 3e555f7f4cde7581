"""A trained model as an ONNX graph, from token ids to scores; the extra ``losslab[onnx]``."""

import json
import logging
import warnings
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from losslab.errors import ModelError
from losslab.features.encoder import load_encoder, pool
from losslab.features.inputs import do_batches, inputs_of, scoring_batches
from losslab.features.tokens import TokenIds
from losslab.inference.classifier import Classifier
from losslab.inference.folder import (
    load_model,
    refuse_occupied,
    replacing,
    save_model,
    write_manifest,
)
from losslab.inference.model import TrainedModel
from losslab.inference.scorers import CPU_TOKENS, build_network, make_scorer, text_settings
from losslab.models.text_model import TextModel, ThresholdModel
from losslab.parameters import (
    HybridSettings,
    LSTMSettings,
    TransformerSettings,
    frozen_encoder,
)

GRAPH = "model.onnx"
TOLERANCE = 1e-4
"""Largest difference of a score from torch's that an export may have."""
OPSET = 18
TRIED = ("a short text", "", "a much longer text with many words " * 20)
"""Texts that every export is compared on."""
INSTALL = "pip install 'losslab[onnx]'"


class ScoreGraph(nn.Module):
    """From token ids and their mask to scores: encoder, head and what the loss does to logits."""

    def __init__(self, model: TrainedModel) -> None:
        super().__init__()
        settings = text_settings(model)
        network, frozen = build_network(model), frozen_encoder(settings)
        self.model: TextModel = network.model
        self.transform = network.loss.scores
        self.pooling = frozen.pooling if frozen else ""
        self.encoder = load_encoder(frozen.backbone).eval() if frozen else None
        inner = self.model.model if isinstance(self.model, ThresholdModel) else self.model
        for encoder in (self.encoder, getattr(inner, "backbone", None)):
            if encoder is not None:  # quicker than fused attention taken apart
                encoder.set_attn_implementation("eager")

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Scores: texts x labels, float32."""
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        if self.encoder is not None:
            hidden = self.encoder(**inputs).last_hidden_state
            pooled = pool(hidden, attention_mask, self.pooling)
            inputs = {"features": nn.functional.normalize(pooled, dim=1)}
        return self.transform(self.model(**inputs))


class OnnxScorer:
    """Scores by ONNX Runtime; on a CPU each thread has a batch of its own."""

    def __init__(self, model: TrainedModel, graph: Path) -> None:
        runtime = _import("onnxruntime")
        from tokenizers import Tokenizer

        settings = text_settings(model)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        providers = runtime.get_available_providers()
        self._session = runtime.InferenceSession(str(graph), options, providers=providers)
        tokenizer = Tokenizer.from_str(json.dumps(model.vocabulary))
        self._tokenize, self._num_labels = TokenIds(tokenizer, settings), len(model.labels)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Scores: texts x labels, float64."""
        inputs = inputs_of(self._tokenize(texts), np.arange(len(texts)))
        scores = np.empty((len(texts), self._num_labels))

        def score(indices: np.ndarray) -> None:
            batch = {name: tensor.numpy() for name, tensor in inputs.batch(indices).items()}
            scores[indices] = self._session.run(None, batch)[0]

        batches = scoring_batches(inputs.lengths, max_tokens=CPU_TOKENS)
        for _ in do_batches(score, batches, torch.device("cpu")):
            pass
        return scores


def save_onnx(model: TrainedModel, folder: Path, *, replace: bool = False) -> float:
    """Write a model folder with an ONNX graph; the largest difference of scores from torch's.

    Raise ModelError, and write nothing, where scores differ by more than ``TOLERANCE``.
    """
    settings = text_settings(model)
    if isinstance(settings, HybridSettings | LSTMSettings):
        raise ModelError(
            f"a {settings.kind} is not exported to ONNX: its sparse words, or sequences of varying "
            "length, are no graph; probe, textcnn and fine-tuned encoders are"
        )
    refuse_occupied(folder, replace=replace)
    with replacing(folder) as part:
        save_model(model, part)
        export_graph(model, part / GRAPH)
        texts = [*TRIED]
        ours = make_scorer(model)(texts)
        difference = float(np.abs(OnnxScorer(model, part / GRAPH)(texts) - ours).max())
        if not difference <= TOLERANCE:
            raise ModelError(
                f"scores of the ONNX graph differ from torch's by {difference:.1g}, more than "
                f"{TOLERANCE:g}: nothing was written"
            )
        write_manifest(part)
    return difference


def load_onnx(folder: str | Path) -> Classifier:
    """The classifier of a model folder, scored by ONNX Runtime; every file verified."""
    path = Path(folder)
    model = load_model(path)
    if not (path / GRAPH).is_file():
        raise ModelError(f"{path} has no {GRAPH}: kedro export --format=onnx makes one")
    return Classifier(model, OnnxScorer(model, path / GRAPH))


def export_graph(model: TrainedModel, file: Path) -> None:
    """Write the graph in one file; of BERT-like encoders fused for the CPU."""
    _import("onnx")
    graph = ScoreGraph(model).eval()
    settings = text_settings(model)
    example = (torch.ones(2, 8, dtype=torch.long), torch.ones(2, 8, dtype=torch.long))
    sizes = {0: torch.export.Dim("texts"), 1: torch.export.Dim("tokens")}
    export: Callable[..., Any] = torch.onnx.export
    with _quiet():
        export(
            graph,
            example,
            str(file),
            input_names=["input_ids", "attention_mask"],
            output_names=["scores"],
            dynamic_shapes=(sizes, sizes),
            opset_version=OPSET,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    fine_tuned = isinstance(settings, TransformerSettings)
    encoder: Any = graph.model.backbone if fine_tuned else graph.encoder
    if encoder is not None and encoder.config.model_type == "bert":
        _fuse(file, encoder.config)


def _fuse(file: Path, config: Any) -> None:
    """Fuse attention, layer norm and GELU: float32 as before, fewer passes over memory."""
    optimizer = _import("onnxruntime.transformers.optimizer")
    with _quiet():
        fused = optimizer.optimize_model(
            str(file),
            model_type="bert",
            num_heads=config.num_attention_heads,
            hidden_size=config.hidden_size,
            opt_level=1,
        )
        fused.save_model_to_file(str(file))


@contextmanager
def _quiet() -> Any:
    """Exporters and optimizers tell of each step."""
    names = ("torch.onnx", "onnxscript", "onnxruntime", "onnx_ir")
    levels = {name: logging.getLogger(name).level for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            logging.getLogger(name).setLevel(logging.ERROR)
        try:
            yield
        finally:
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)


def _import(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ModelError(f"{error.name} is not installed: {INSTALL}") from error
