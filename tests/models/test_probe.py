from types import SimpleNamespace

import numpy as np
import pytest
import torch

from losslab.models.build import build_model, predict_logits


@pytest.mark.parametrize("hidden", [0, 5])
def test_prediction_uses_the_weights_given_and_no_dropout(hidden):
    settings = SimpleNamespace(hidden=hidden, dropout=0.5)
    torch.manual_seed(0)
    trained = build_model(settings, width=4, labels=3)
    weights = {name: value.numpy() for name, value in trained.state_dict().items()}
    features = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)
    other = build_model(settings, width=4, labels=3)
    logits = predict_logits(other, weights, features)
    assert logits.shape == (7, 3)
    with torch.no_grad():
        expected = trained.eval()(torch.from_numpy(features)).numpy()
    np.testing.assert_array_equal(logits, expected)
