"""Log-sum-exp over a part of a row or column, with its gradient, in few passes."""

import torch
from torch import Tensor

MINUS_INFINITY = float("-inf")


def weighted_logsumexp(scores: Tensor, weights: Tensor, *, anchor: bool) -> tuple[Tensor, Tensor]:
    """``log(sum_j w_j e^(x_j))`` per row, with ``1 +`` inside where ``anchor``; and its gradient.

    Weights lie in [0, 1]; a row without any weight gives minus infinity, or 0 where ``anchor``.

    >>> value, share = weighted_logsumexp(torch.zeros(1, 2), torch.ones(1, 2), anchor=False)
    >>> value.item(), share.tolist()
    (0.6931..., [[0.5, 0.5]])
    """
    left_out = weights <= 0
    terms = scores.masked_fill(left_out, MINUS_INFINITY)
    largest = terms.amax(dim=1, keepdim=True)
    largest = largest.clamp_min(0.0 if anchor else torch.finfo(scores.dtype).min)
    terms = terms.sub_(largest).exp_().mul_(weights)
    total = terms.sum(dim=1, keepdim=True)
    if anchor:
        total += torch.exp(-largest)
    share = terms.div_(total.clamp_min(torch.finfo(scores.dtype).tiny))
    return (largest + torch.log(total)).squeeze(1), share


def logsumexp_and_share(terms: Tensor, *, dim: int) -> tuple[Tensor, Tensor]:
    """``log(sum e^x)`` along ``dim`` and its gradient, the softmax; terms of minus infinity are out.

    >>> logsumexp_and_share(torch.tensor([[0.0, MINUS_INFINITY]]), dim=0)[0].tolist()
    [0.0, -inf]
    """
    largest = terms.amax(dim=dim, keepdim=True).clamp_min(torch.finfo(terms.dtype).min)
    share = (terms - largest).exp_()
    total = share.sum(dim=dim, keepdim=True)
    share.div_(total.clamp_min(torch.finfo(terms.dtype).tiny))
    return (largest + torch.log(total)).squeeze(dim), share
