"""Texts labelled a second by fine-tuned MiniLM: losslab, its ONNX graph, transformers' own pipeline.

The same model and texts in the same run: made-up texts as long as Reuters' articles, 90 labels, two
threads. Rounds alternate; the best of each counts, since a shared machine's time says little. Fine-tuned
weights cost what others do: ``--model`` takes a model folder of yours, else the head is new.

``python benchmarks/prediction.py [--texts 600] [--rounds 3] [--model folder]``
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
import yaml

from losslab.features.compute import learn_tokenizer
from losslab.inference.classifier import Classifier
from losslab.inference.folder import load_model
from losslab.inference.hugging_face import save_hugging_face, scores_of
from losslab.inference.model import TrainedModel, assemble_model
from losslab.inference.onnx import load_onnx, save_onnx
from losslab.losses import build_loss
from losslab.models.text_model import build_model
from losslab.parameters import LossSettings, Recipe
from losslab.parameters.validation import complete_recipes
from losslab.temporary import scratch_folder
from losslab.training.network import ModelWithLoss

LABELS, THREADS, BATCH = 90, 2, 32
LOG_WORDS, SPREAD, FEWEST, MOST = 4.45, 0.8, 10, 900
"""Words of Reuters' articles: about lognormal, median 86, mean 118."""
WORDS = (
    "the of a in said to and mln vs dlrs for it on that from is with was at shares company year its by "
    "bank pct trade oil tonnes cts net loss profit market interest rates billion prices"
)
CONF = Path(__file__).parents[1] / "conf/base"


def make_texts(count: int) -> list[str]:
    random = np.random.default_rng(0)
    lengths = np.clip(random.lognormal(LOG_WORDS, SPREAD, count), FEWEST, MOST).astype(int)
    return [" ".join(random.choice(WORDS.split(), length)) for length in lengths]


def make_model() -> TrainedModel:
    """MiniLM as the recipe has it, with a new head."""
    files = [CONF / f"parameters_{stage}.yml" for stage in ("training", "features")]
    values = {k: v for file in files for k, v in yaml.safe_load(file.read_text()).items()}
    recipe = Recipe.model_validate(complete_recipes(values)["minilm"])
    torch.manual_seed(0)
    loss = build_loss("bce")
    network = ModelWithLoss(
        build_model(recipe.model, {}, num_labels=LABELS),
        loss,
        regularizers=recipe.training.regularizers,
    )
    arrays = {f"seed_1/{name}": value.numpy() for name, value in network.state_dict().items()}
    facts = {"select_by": "macro_f1", "validation": {}}
    return assemble_model(
        LossSettings(name="bce", options=type(loss).defaults()),
        arrays,
        json.loads(learn_tokenizer(recipe.model, []).to_str()),
        [f"label {number}" for number in range(LABELS)],
        {"primary": "own", "seeds": {"1": {"own": {"threshold": 0.5}}}},
        {
            "rule": "own",
            "mean": {},
            "intervals": {},
            "seeds": {"1": {}},
            "training": {"seeds": {"1": facts}},
        },
        label_statistics={"frequencies": [1] * LABELS, "documents": LABELS, "mu": None},
        corpus={"summary": {}, "splits": []},
        task="multi",
        recipe=recipe,
        words={},
    )


def make_ways(model: TrainedModel, folder: Path) -> dict[str, Callable[[list[str]], np.ndarray]]:
    """From texts to scores, by three ways."""
    from transformers import pipeline

    save_hugging_face(model, folder / "huggingface")
    save_onnx(model, folder / "onnx")
    length = model.facts.recipe.model.max_length
    theirs: Any = pipeline(
        "text-classification",
        str(folder / "huggingface"),
        top_k=None,
        batch_size=BATCH,
        truncation=True,
        max_length=length,
        trust_remote_code=True,
    )

    def pipeline_scores(texts: list[str]) -> np.ndarray:
        return torch.stack([scores_of(each, model.labels) for each in theirs(texts)]).numpy()

    return {
        f"transformers.pipeline(batch_size={BATCH})": pipeline_scores,
        "losslab": Classifier(model).scores,
        "losslab, ONNX": load_onnx(folder / "onnx").scores,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(THREADS)
    texts = make_texts(given.texts)
    model = load_model(given.model) if given.model else make_model()
    with scratch_folder() as folder:
        ways = make_ways(model, Path(folder))
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        scores: dict[str, np.ndarray] = {}
        for _ in range(given.rounds):
            for name, score in ways.items():
                wall, cpu = perf_counter(), process_time()
                scores[name] = score(texts)
                seconds[name].append((perf_counter() - wall, process_time() - cpu))
    report(texts, seconds, scores)


def report(
    texts: list[str], seconds: dict[str, list[tuple[float, float]]], scores: dict[str, np.ndarray]
) -> None:
    first = next(iter(scores))
    wall_of_first, cpu_of_first = (min(each) for each in zip(*seconds[first], strict=True))
    print(
        "| way | texts a second | times the pipeline | CPU ms a text | by CPU time | differs by |"
    )
    print("|---|---|---|---|---|---|")
    for name, values in scores.items():
        wall, cpu = (min(each) for each in zip(*seconds[name], strict=True))
        difference = np.abs(values - scores[first]).max()
        same = ((values > 0.5) == (scores[first] > 0.5)).all()
        print(
            f"| {name} | {len(texts) / wall:.1f} | {wall_of_first / wall:.2f} | "
            f"{1000 * cpu / len(texts):.1f} | {cpu_of_first / cpu:.2f} | {difference:.1g}, labels "
            f"{'the same' if same else 'differ'} |"
        )


if __name__ == "__main__":
    main()
