import math

import pytest
import torch
from loss_cases import mean
from torch.autograd import gradcheck

from losslab.losses.contrast import supervised_contrast


def draw(rows=6, dim=4, labels=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(rows, dim, generator=generator, dtype=torch.float64)
    return vectors, (torch.rand(rows, labels, generator=generator) < 0.4).double()


def slow_contrast(vectors, targets, temperature):
    """Anchor by anchor, label by label."""

    def cosine(a, b):
        product = sum(x * y for x, y in zip(a, b, strict=True))
        return product / math.hypot(*a) / math.hypot(*b)

    values, rows = [], range(len(vectors))
    for i in rows:
        others = [k for k in rows if k != i]
        terms = {k: math.exp(cosine(vectors[i], vectors[k]) / temperature) for k in others}
        for label, carried in enumerate(targets[i]):
            alike = [k for k in others if carried and targets[k][label]]
            if alike:
                values.append(mean(-math.log(terms[k] / sum(terms.values())) for k in alike))
    return mean(values) if values else 0.0


@pytest.mark.parametrize("temperature", [0.1, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_contrast_is_its_equation(seed, temperature):
    vectors, targets = draw(seed=seed)
    value = supervised_contrast(vectors, targets, temperature=temperature)
    expected = slow_contrast(vectors.tolist(), targets.tolist(), temperature)
    assert value.item() == pytest.approx(expected, rel=1e-9)


def test_gradient_is_the_derivative_of_the_value():
    vectors, targets = draw(rows=4)
    assert gradcheck(
        lambda v: supervised_contrast(v, targets, temperature=0.5), vectors.requires_grad_()
    )


@pytest.mark.parametrize("shape", [(1, 4), (3, 4)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_batch_without_two_documents_of_a_label_costs_nothing(shape, dtype):
    vectors = torch.full(shape, 1e4, dtype=dtype, requires_grad=True)
    value = supervised_contrast(vectors, torch.eye(shape[0]).to(dtype), temperature=0.1)
    value.backward()
    assert value == 0
    assert not vectors.grad.any()


def test_length_of_vectors_is_immaterial_and_zero_vectors_are_finite():
    vectors, targets = draw()
    value = supervised_contrast(vectors, targets, temperature=0.1)
    torch.testing.assert_close(supervised_contrast(9 * vectors, targets, temperature=0.1), value)
    vectors[0] = 0
    vectors.requires_grad_()
    supervised_contrast(vectors, targets, temperature=0.1).backward()
    assert vectors.grad.isfinite().all()


def test_a_step_down_the_gradient_brings_documents_of_a_label_together():
    vectors, _ = draw(rows=4)
    targets = torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1]]).double()
    vectors.requires_grad_()
    supervised_contrast(vectors, targets, temperature=0.5).backward()
    moved = (vectors - 0.1 * vectors.grad).detach()
    before, after = (torch.cosine_similarity(v[::2], v[1::2]).sum() for v in (vectors, moved))
    assert after > before
