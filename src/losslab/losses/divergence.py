"""How far two passes over the same documents disagree: KL divergences, per document."""

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812


def bernoulli_divergence(first: Tensor, second: Tensor, *, scale: float = 1.0) -> Tensor:
    """KL of the label distributions ``sigmoid(scale * s)``, summed over labels, per document.

    At scale 2 it is eq. 36 of ZLPR.

    >>> bernoulli_divergence(torch.zeros(1, 2), torch.zeros(1, 2)).item()
    0.0
    """
    first, second = scale * first, scale * second
    terms = torch.sigmoid(first) * (first - second) + F.softplus(second) - F.softplus(first)
    return terms.sum(dim=1)


def symmetric_divergence(first: Tensor, second: Tensor, *, scale: float = 1.0) -> Tensor:
    """KL both ways, ``sum of (q - q') * scale * (s - s')``; at scale 2 it is eq. 37 of ZLPR."""
    first, second = scale * first, scale * second
    gap = torch.sigmoid(first) - torch.sigmoid(second)
    return (gap * (first - second)).sum(dim=1)


def softmax_divergence(first: Tensor, second: Tensor) -> Tensor:
    """KL both ways of the distributions ``softmax(s)``, per document: ``sum of (q - q')(s - s')``.

    The logarithms of the normalisers cancel, since q and q' sum to the same.

    >>> softmax_divergence(torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 1.0]])).item()
    0.0
    """
    gap = torch.softmax(first, dim=1) - torch.softmax(second, dim=1)
    return (gap * (first - second)).sum(dim=1)
