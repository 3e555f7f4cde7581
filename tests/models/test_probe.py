from types import SimpleNamespace

import pytest
import torch

from losslab.models.build import build_model


@pytest.mark.parametrize(("hidden", "matrices"), [(0, [(3, 4)]), (5, [(5, 4), (3, 5)])])
def test_a_recipe_shapes_the_probe(hidden, matrices):
    model = build_model(SimpleNamespace(hidden=hidden, dropout=0.5), width=4, labels=3)
    shapes = [tuple(p.shape) for p in model.parameters() if p.ndim == 2]
    assert shapes == matrices
    model.eval()
    features = torch.randn(7, 4)
    assert torch.equal(model(features), model(features))
