"""Less memory for the same gradients."""

from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef

from losslab.models.recompute import gelu_recomputed


class Layer(nn.Module):
    """Two matrices with an activation between them; tells whether its output is still held."""

    def __init__(self, activation: nn.Module) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.widen, self.activation, self.narrow = nn.Linear(4, 16), activation, nn.Linear(16, 4)

    def forward(self, values):
        wide = self.activation(self.widen(values))
        self.held = StorageWeakRef(wide.untyped_storage())
        return self.narrow(wide)


VALUES = torch.linspace(-3, 3, 24).view(2, 3, 4)


def run(activation, block):
    layer = Layer(activation)
    with block:
        value = layer(VALUES).square().sum()
    held = not layer.held.expired()
    value.backward()
    return held, {name: weight.grad for name, weight in layer.named_parameters()}


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gradients_are_the_same_though_the_output_is_not_kept(approximate):
    held, expected = run(nn.GELU(approximate), nullcontext())
    assert held
    held, gradients = run(nn.GELU(approximate), gelu_recomputed())
    assert not held
    torch.testing.assert_close(gradients, expected, rtol=0, atol=0)


def test_other_activations_are_kept():
    held, gradients = run(nn.Tanh(), gelu_recomputed())
    assert held
    torch.testing.assert_close(gradients, run(nn.Tanh(), nullcontext())[1], rtol=0, atol=0)


def test_a_pass_without_a_backward_is_freed():
    layer = Layer(nn.Tanh())  # keeps its own output
    with gelu_recomputed():
        layer(VALUES)
    assert layer.held.expired()


def test_what_was_modified_in_place_is_refused():
    weight = torch.ones(3, requires_grad=True)
    with gelu_recomputed():
        made = weight.exp()
        value = made.sum()
    made.data.zero_()  # unnoticed by autograd, as asked for
    value.backward()
    with gelu_recomputed():
        made = weight.exp()
        value = made.mul_(2).sum()
    with pytest.raises(RuntimeError, match=r"shape \(3,\).* modified by an inplace operation"):
        value.backward()


def test_a_compiled_pass_is_left_to_the_compiler():
    layer = Layer(nn.GELU())

    def forward(values):
        with gelu_recomputed():
            return layer.narrow(layer.activation(layer.widen(values)))

    values = torch.ones(2, 4)
    compiled = torch.compile(forward, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(values), forward(values))
