import numpy as np
import pytest
from trained import LABELS, RULES, TEXTS, make_baseline, make_model, make_network, small_recipe

from losslab.errors import ModelError
from losslab.evaluation.predictions import predict_labels
from losslab.features.compute import compute_features, load_tokenizer
from losslab.features.inputs import inputs_of
from losslab.inference import classifier as module
from losslab.inference.classifier import Classifier
from losslab.losses import LOSSES
from losslab.training.network import predict_scores


@pytest.fixture(scope="module")
def classifier():
    return Classifier(make_model(small_recipe("textcnn")))


@pytest.mark.parametrize("recipe", ["probe", "hybrid", "textcnn", "lstm"])
def test_scores_are_those_of_the_pipeline(recipe):
    settings = small_recipe(recipe)
    model = make_model(settings)
    features = compute_features(
        settings.model, TEXTS, load_tokenizer(settings.model, model.vocabulary)
    )
    network = make_network(settings, "bce")
    expected = predict_scores(network, inputs_of(features, np.arange(len(TEXTS))))
    assert np.array_equal(Classifier(model).scores(TEXTS), expected)
    assert np.ptp(expected, axis=0).max() > 1e-4  # texts differ


@pytest.mark.filterwarnings("ignore:.*small for a")
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_is_rebuilt_with_the_scores_it_trains(loss):
    task, recipe = LOSSES[loss].tasks[0], small_recipe("textcnn")
    model = make_model(recipe, loss, task=task)
    features = compute_features(recipe.model, TEXTS, load_tokenizer(recipe.model, model.vocabulary))
    network = make_network(recipe, loss, task)
    expected = predict_scores(network, inputs_of(features, np.arange(len(TEXTS))))
    assert np.array_equal(Classifier(model).scores(TEXTS), expected)


@pytest.mark.parametrize("rule", RULES)
def test_labels_are_those_of_the_rule_best_first(classifier, rule):
    scores = classifier.scores(TEXTS)
    expected = predict_labels(RULES[rule], scores)
    for row, prediction in enumerate(classifier.predict(TEXTS, rule=rule)):
        labels = [label for label, given in zip(LABELS, expected[row], strict=True) if given]
        assert sorted(prediction.labels) == sorted(labels)
        assert prediction.rule == rule
        of_labels = [prediction.scores[label] for label in prediction.labels]
        assert of_labels == sorted(of_labels, reverse=True)
        assert of_labels == [scores[row, LABELS.index(label)] for label in prediction.labels]


def test_scores_of_the_highest_labels_are_told_when_asked_for(classifier):
    (prediction,) = classifier.predict(TEXTS[:1], rule="own", top=99)
    assert set(prediction.scores) == set(LABELS)
    assert list(prediction.scores.values()) == sorted(prediction.scores.values(), reverse=True)


def test_a_stream_is_predicted_in_parts(classifier, monkeypatch):
    whole = classifier.predict(TEXTS)
    monkeypatch.setattr(module, "TEXTS_AT_ONCE", 3)
    taken = []

    def texts():
        for text in TEXTS:
            taken.append(text)
            yield text

    stream = classifier.predict_stream(texts())
    first = next(stream)
    assert len(taken) == 3
    assert [each.labels for each in [first, *stream]] == [each.labels for each in whole]


def test_an_explanation_is_what_deleting_each_word_by_hand_gives(classifier):
    text = "the lock is open"
    (explained,) = classifier.explain([text], rule="top_k", words_per_label=9)
    before = classifier.scores([text])[0]
    for label in explained.labels:
        column, words = LABELS.index(label), text.split()
        drops = {
            word: before[column] - classifier.scores([text.replace(word, "")])[0, column]
            for word in words
        }
        expected = {word: drop for word, drop in drops.items() if drop > 1e-6}
        found = {effect.word: effect.drop for effect in explained.words[label]}
        assert found == pytest.approx(expected, abs=1e-6)
        assert list(found) == sorted(found, key=lambda word: -found[word])


def test_a_baseline_labels_and_explains():
    baseline = Classifier(make_baseline())
    (prediction,) = baseline.explain(["a lock"])
    assert prediction.labels == ("lock",)
    assert [effect.word for effect in prediction.words["lock"]] == ["lock"]


def test_no_text_has_no_labels(classifier):
    assert classifier.predict([]) == []
    assert classifier.explain([]) == []


@pytest.mark.parametrize(
    ("texts", "options", "reason"),
    [
        ("a text", {}, "expected a list of texts"),
        (["a", 5], {}, "text 1: expected a string, got int"),
        (["a"], {"rule": "tunde"}, "did you mean 'tuned'"),
    ],
)
def test_mistakes_are_named(classifier, texts, options, reason):
    with pytest.raises(ModelError, match=reason):
        classifier.predict(texts, **options)
