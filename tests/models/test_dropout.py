"""Our dropout against PyTorch's."""

import pytest
import torch
from torch import nn

from losslab.models.dropout import Dropout, quicken_dropout

VALUES = torch.arange(1.0, 400_004.0)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_as_many_values_are_dropped_as_asked(p):
    torch.manual_seed(0)
    kept = Dropout(p)(VALUES) != 0
    spread = (p * (1 - p) / len(VALUES)) ** 0.5
    assert kept.float().mean().item() == pytest.approx(1 - p, abs=5 * spread)


def test_neighbours_are_dropped_independently():
    torch.manual_seed(0)
    dropped = (Dropout(0.3)(VALUES) == 0).float()
    pairs = [(dropped[:-apart] * dropped[apart:]).mean().item() for apart in range(1, 9)]
    assert pairs == pytest.approx([0.09] * 8, abs=0.003)


def test_what_is_kept_is_scaled_in_values_and_gradients():
    values = VALUES.clone().requires_grad_()
    made = Dropout(0.2)(values)
    made.sum().backward()
    kept = made.detach() != 0
    torch.testing.assert_close(made.detach()[kept], VALUES[kept] * 1.25, rtol=1e-4, atol=0)
    torch.testing.assert_close(values.grad, kept * 1.25, rtol=1e-4, atol=0)


def test_the_seed_of_pytorch_decides():
    passes = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        passes.append(Dropout(0.5)(VALUES))
    assert torch.equal(passes[0], passes[1])
    assert not torch.equal(passes[0], passes[2])


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5, 7)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_any_shape_and_precision_is_kept(shape, dtype):
    made = Dropout(0.5)(torch.ones(shape, dtype=dtype))
    assert (made.shape, made.dtype) == (shape, dtype)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_extremes_are_those_of_pytorch(p):
    assert torch.equal(Dropout(p)(VALUES), nn.Dropout(p)(VALUES))


@pytest.mark.parametrize("p", [1e-9, 0.3, 1 - 1e-9])
def test_the_mean_stays(p):
    torch.manual_seed(0)
    made = Dropout(p)(torch.ones(4_000_000))
    spread = (made.max().item() / len(made)) ** 0.5
    assert made.mean().item() == pytest.approx(1, abs=4 * spread)


def test_many_threads_draw_as_pytorch_does(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    passes = []
    for dropout in (Dropout(0.3), nn.Dropout(0.3)):
        torch.manual_seed(0)
        passes.append(dropout(VALUES))
    assert torch.equal(*passes)


def test_nothing_is_dropped_outside_training():
    assert torch.equal(Dropout(0.5).eval()(VALUES), VALUES)


def test_dropout_within_a_module_is_replaced():
    inner = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.3))
    outer = nn.ModuleDict({"inner": inner, "special": nn.AlphaDropout(0.2)}).eval()
    quicken_dropout(outer)
    assert type(inner[1]) is Dropout
    assert inner[1].p == 0.3
    assert not inner[1].training
    assert type(outer["special"]) is nn.AlphaDropout
