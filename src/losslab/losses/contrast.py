"""Contrast between documents of a batch: those that share a label should be alike."""

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812


def supervised_contrast(vectors: Tensor, targets: Tensor, *, temperature: float) -> Tensor:
    """MulSupCon of Zhang and Wu 2024: each label of a document is an anchor of its own.

    ``-1/|P| sum over p in P of log softmax(s_i / temperature)_p``, mean over pairs of a document i and
    one of its labels, P the other documents with that label, s_i the cosine similarities of i to all
    other documents. Pairs without another document are left out; without any pair it is 0.

    The paper trains an encoder with it before a classifier, on two views of each image and a queue of
    earlier batches; here a batch has one view and no queue, so that it can stand beside any loss.

    Shapes: vectors B x H, targets B x C; memory B x (B + C); value scalar.

    >>> vectors = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> targets = torch.tensor([[1.0], [1.0], [0.0]])
    >>> supervised_contrast(vectors, targets, temperature=0.1).item() < 1e-4
    True
    """
    unit = F.normalize(vectors, dim=1)
    itself = torch.eye(len(unit), dtype=torch.bool, device=unit.device)
    similarity = (unit @ unit.T / temperature).masked_fill(itself, torch.finfo(unit.dtype).min)
    others = targets.sum(dim=0) - 1
    shares = targets / others.clamp_min(1)
    weights = (shares @ targets.T).masked_fill(itself, 0.0)
    pairs = (targets * (others > 0)).sum().clamp_min(1)
    return -(weights * F.log_softmax(similarity, dim=1)).sum() / pairs
