"""Two towers: batches, similarity, training with every recipe and target, resume."""

import numpy as np
import pytest
import torch
from question_corpus import write_corpus
from recipe_conf import RECIPES, read_recipe
from tiny_encoder import write_encoder

from losslab.data.readers import READERS
from losslab.errors import NonFiniteLossError, ParameterError
from losslab.features.compute import compute_features, learn_tokenizer
from losslab.features.inputs import inputs_of
from losslab.losses import LOSSES
from losslab.models.two_tower import build_two_tower
from losslab.parameters import LossSettings, TwoTowerSettings
from losslab.parameters.losses import RETRIEVAL_LOSSES
from losslab.retrieval import FactoredTargets, QuestionRows, article_splits, positive_ranks
from losslab.retrieval.questions import all_texts, question_rows
from losslab.retrieval.training import (
    QuestionSplit,
    TowerData,
    TowerJob,
    encode_texts,
    train_towers,
)
from losslab.training.checkpoint import Checkpoints
from losslab.training.job import run_job, run_seeds, weights_of

TOWERS = TwoTowerSettings(embedding_dim=8, scale=20.0, negatives=5)
SHORT = {"epochs": 3, "patience": 3, "batch_size": 16, "threads": 1}
TOPICS = 24


REGULARIZERS = {
    "rdrop": 0,
    "adversarial": 0,
    "adversarial_epsilon": 0.1,
    "mulsupcon": 0,
    "mulsupcon_temperature": 0.1,
}


@pytest.fixture(scope="module")
def vectors():
    """24 candidates and two questions on each, alike in four dimensions; four are noise."""
    random = np.random.default_rng(0)
    topics = random.normal(size=(TOPICS, 4))
    signal = np.concatenate([topics, np.repeat(topics, 2, axis=0)])
    noise = 3 * random.normal(size=(len(signal), 4))
    return {"embeddings": np.concatenate([signal, noise], axis=1).astype(np.float32)}


@pytest.fixture(scope="module")
def data(vectors):
    rows = QuestionRows(TOPICS + np.arange(48), np.arange(TOPICS), np.arange(48) // 2)
    return TowerData(vectors, rows, rows, np.arange(72).astype(str))


def make_job(loss="ce", recipe=None, **two_tower):
    recipe = recipe or read_recipe("probe", {"hidden_dim": 0, "dropout": 0.0}, **SHORT)
    return TowerJob(
        loss=LossSettings(name=loss, options=LOSSES[loss].defaults()),
        recipe=recipe,
        two_tower=TOWERS.model_copy(update=two_tower),
        recall_at=(1, 5),
    )


def test_a_batch_has_each_positive_once_and_as_many_negatives_as_asked(data):
    split = QuestionSplit(data.features, data.train, data.ids, negatives=5)
    indices = np.array([7, 6, 40])  # the first two share their positive
    batch = split.batch(indices)
    candidates = batch["inputs"]["candidate_features"].numpy()
    assert len(candidates) == len(np.unique(candidates, axis=0)) == 2 + 5
    assert (batch["targets"].sum(dim=1) == 1).all()
    own = candidates[batch["targets"].argmax(dim=1)]
    np.testing.assert_array_equal(own, data.features["embeddings"][[3, 3, 20]])
    np.testing.assert_array_equal(
        batch["inputs"]["question_features"], data.features["embeddings"][TOPICS + indices]
    )


def test_negatives_are_drawn_from_all_others_alike_and_follow_from_the_batch(data):
    split = QuestionSplit(data.features, data.train, data.ids, negatives=5, seed=1)
    positives, drawn = np.array([0, 3, 20]), np.zeros(TOPICS, dtype=int)
    for number in range(2000):
        sampled = split._sample(np.array([number]), positives)
        assert len(set(sampled)) == 5
        drawn[sampled] += 1
    assert (drawn[positives] == 0).all()
    others = np.delete(drawn, positives) / 2000
    assert np.abs(others - 5 / 21).max() < 0.05
    again = QuestionSplit(data.features, data.train, data.ids, negatives=5, seed=1)
    assert (split._sample(positives, positives) == again._sample(positives, positives)).all()


def test_more_negatives_than_there_are_take_every_candidate(data):
    split = QuestionSplit(data.features, data.train, data.ids, negatives=1000)
    assert split.batch(np.array([0]))["targets"].shape == (1, TOPICS)


def test_soft_targets_are_those_of_the_batchs_candidates(data):
    soft = FactoredTargets(np.eye(48, TOPICS), np.eye(TOPICS))
    split = QuestionSplit(data.features, data.train, data.ids, negatives=3, soft_targets=soft)
    indices = np.array([4, 9])
    batch = split.batch(indices)
    columns = [
        int(np.flatnonzero((data.features["embeddings"][:TOPICS] == row).all(axis=1))[0])
        for row in batch["inputs"]["candidate_features"].numpy()
    ]
    expected = soft(indices, np.array(columns))
    np.testing.assert_allclose(batch["context"]["soft_targets"], expected, rtol=1e-6)


def test_frozen_embeddings_start_at_the_encoders_own_similarity(vectors):
    model = build_two_tower(read_recipe("probe").model, vectors, TOWERS).eval()
    embeddings = torch.from_numpy(vectors["embeddings"])
    unit = torch.nn.functional.normalize(embeddings, dim=1)
    logits = model(question_features=embeddings[:3], candidate_features=embeddings[3:9])
    torch.testing.assert_close(logits, 20 * unit[:3] @ unit[3:9].T)


def test_training_finds_what_makes_questions_and_answers_alike(data):
    recipe = read_recipe(
        "probe",
        {"hidden_dim": 0, "dropout": 0.0},
        **SHORT | {"epochs": 60, "patience": 60, "learning_rate": 0.02},
    )
    job = make_job(recipe=recipe)
    fitted = train_towers(job, data)
    history = fitted.history["validation_mrr"]
    assert history.iloc[0] < 0.5
    assert history.max() > 0.9
    weights = {name: tensor.numpy() for name, tensor in fitted.weights.items()}
    rows = data.validation
    encoded = encode_texts(recipe, TOWERS, data.features, weights, rows.questions, rows.candidates)
    ranks = positive_ranks(*encoded, rows.positives)
    assert np.mean(1 / ranks) == pytest.approx(history.max())


def test_validation_loss_is_cross_entropy_over_all_candidates(data):
    fitted = train_towers(make_job(), data)
    weights = {name: tensor.numpy() for name, tensor in fitted.weights.items()}
    rows, recipe = data.validation, make_job().recipe
    questions, candidates = encode_texts(
        recipe, TOWERS, data.features, weights, rows.questions, rows.candidates
    )
    logits = torch.from_numpy(20 * questions @ candidates.T)
    expected = torch.nn.functional.cross_entropy(logits, torch.from_numpy(rows.positives))
    best = fitted.history.set_index("epoch").loc[fitted.best_epoch]
    assert best["validation_loss"] == pytest.approx(expected.item(), rel=1e-5)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    corpus = READERS["squad"](write_corpus(tmp_path_factory.mktemp("corpus") / "squad"))
    shares = {"validation": 0.15, "test": 0.25, "validation_of_train": 0.25, "seed": 0}
    splits = article_splits(corpus.questions, corpus.documents, **shares)
    return corpus.questions.assign(split=splits[0]), corpus.documents.assign(split=splits[1])


@pytest.mark.parametrize("name", sorted({*RECIPES} - {"roberta", "cnn", "image_probe"}))
def test_every_recipe_trains_two_towers(name, texts, tmp_path):
    tiny = {"max_length": 16}
    if "backbone" in RECIPES[name]["model"]:
        tiny["backbone"] = write_encoder(tmp_path)
    recipe = read_recipe(name, tiny, **SHORT | {"epochs": 1})
    questions, candidates = texts
    words = all_texts(questions, candidates)
    features = compute_features(recipe.model, words, learn_tokenizer(recipe.model, words))
    rows = [question_rows(questions, candidates, part) for part in ("train", "validation")]
    fitted = train_towers(
        make_job(recipe=recipe), TowerData(features, *rows, np.arange(len(words)).astype(str))
    )
    assert np.isfinite(fitted.history["train_loss"]).all()
    assert 0 < fitted.history["validation_mrr"].iloc[0] <= 1


@pytest.mark.parametrize("loss", RETRIEVAL_LOSSES)
def test_soft_targets_change_the_training_and_hard_labels_need_none(data, loss):
    soft = FactoredTargets(np.ones((48, 2)), np.eye(TOPICS, 2))
    with_soft = TowerData(data.features, data.train, data.validation, data.ids, soft)
    job = make_job(loss)
    first, second = (train_towers(job, each if loss != "ce" else data) for each in [with_soft] * 2)
    assert first.history["train_loss"].tolist() == second.history["train_loss"].tolist()
    if loss != "ce":
        assert (first.history["train_soft_loss"] > 0).all()


def test_validation_that_is_not_finite_ends_the_training_with_its_questions(data, tmp_path):
    recipe = read_recipe("probe", **SHORT | {"epochs": 2, "batch_size": 48, "learning_rate": 1e30})
    with pytest.raises(NonFiniteLossError, match="ce, seed 0, validation after step 1: the loss"):
        train_towers(make_job(recipe=recipe), data, tmp_path)
    assert (tmp_path / "seed_0/batch.safetensors").exists()


def test_seeds_differ_and_the_same_seed_does_not(data):
    weights, history = run_seeds(make_job(), data, range(1, 3), train=train_towers)
    again, _ = run_seeds(make_job(), data, range(1, 2), train=train_towers)
    assert set(history["seed"]) == {1, 2}
    one, two = (weights_of(weights, seed) for seed in (1, 2))
    assert any((one[name] != two[name]).any() for name in one)
    for name, array in weights_of(again, 1).items():
        np.testing.assert_array_equal(array, one[name])


class Killed(Exception):  # noqa: N818 - stands for a signal
    """Ends a training as a kill would."""


def test_a_killed_training_goes_on_and_ends_with_the_same_weights(data, tmp_path, monkeypatch):
    job, checkpoints = make_job(), Checkpoints(tmp_path, interval=0)
    undisturbed = run_job(job, data, train=train_towers)
    make_batch, batches = QuestionSplit.batch, []

    def count(split, indices):
        batches.append(indices)
        if len(batches) == 5:  # in the second epoch
            raise Killed
        return make_batch(split, indices)

    with monkeypatch.context() as patch:
        patch.setattr(QuestionSplit, "batch", count)
        with pytest.raises(Killed):
            run_job(job, data, checkpoints=checkpoints, train=train_towers)
    resumed = run_job(job, data, checkpoints=checkpoints, train=train_towers)
    for name, tensor in undisturbed.weights.items():
        torch.testing.assert_close(resumed.weights[name], tensor, rtol=0, atol=0)
    finished = run_job(job, data, checkpoints=checkpoints, train=train_towers)
    assert finished.history["train_loss"].tolist() == undisturbed.history["train_loss"].tolist()


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"processes": 2}, "processes: retrieval trains in one process"),
        ({"regularizers": {**REGULARIZERS, "adversarial": 1}}, "adversarial perturbs"),
        ({"regularizers": {**REGULARIZERS, "mulsupcon": 1}}, "mulsupcon compares"),
    ],
)
def test_what_retrieval_cannot_train_with_is_named(data, settings, fault):
    recipe = read_recipe("textcnn", {"max_length": 16}, **SHORT | settings)
    with pytest.raises(ParameterError, match=f"recipes.textcnn.training.*{fault}"):
        train_towers(make_job(recipe=recipe), data)


def test_inputs_of_either_tower_are_those_of_the_encoder(texts):
    """Padding does not change an embedding: alone or in a batch, a text has the same one."""
    recipe = read_recipe("lstm", {"max_length": 16})
    words = all_texts(*texts)
    features = compute_features(recipe.model, words, learn_tokenizer(recipe.model, words))
    model = build_two_tower(recipe.model, features, TOWERS).eval()
    together = model.encode(**inputs_of(features, np.arange(6)).batch(np.arange(6)))
    for row in range(6):
        alone = model.encode(**inputs_of(features, np.array([row])).batch(np.array([0])))
        torch.testing.assert_close(alone[0], together[row])
        assert alone.norm().item() == pytest.approx(1)
