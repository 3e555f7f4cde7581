"""Label frequencies of the training split, as losses with label weights take them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from torch import Tensor


@dataclass(frozen=True)
class LabelStatistics:
    """Label frequencies of the training split.

    Args:
        frequencies: n_c, how many training documents carry each label, in the order of the logits.
        documents: D, how many training documents there are.
        mu: the number that ``mu="auto"`` stands for in the rebalanced losses: (mean + median) / 2
            of r over all pairs of a training document and one of its labels.

    >>> LabelStatistics(frequencies=[90, 10, 3], documents=100, mu=0.5).frequencies
    (90, 10, 3)
    """

    frequencies: Sequence[int]
    documents: int
    mu: float | None = None

    @classmethod
    def from_targets(cls, targets: Tensor) -> Self:
        """The statistics of a training split's targets (documents x labels, 0 or 1), with mu.

        >>> import torch
        >>> LabelStatistics.from_targets(torch.tensor([[1, 0], [1, 0], [1, 1]]))
        LabelStatistics(frequencies=(3, 1), documents=3, mu=0.8125)
        """
        positive = targets.double()
        frequencies = positive.sum(dim=0)
        ratios = positive / frequencies.clamp_min(1)
        ratios = (ratios / ratios.sum(dim=1, keepdim=True).clamp_min(1e-300))[positive > 0]
        if not len(ratios):
            return cls([0] * targets.shape[1], len(targets))
        median = (ratios.median() - (-ratios).median()) / 2  # torch takes the lower of two
        mu = float(ratios.mean() + median) / 2
        return cls([int(count) for count in frequencies], len(targets), mu)

    def __post_init__(self) -> None:
        frequencies = tuple(int(n) for n in self.frequencies)
        if any(whole != given for whole, given in zip(frequencies, self.frequencies, strict=True)):
            raise ValueError("frequencies must be whole numbers")
        object.__setattr__(self, "frequencies", frequencies)
        if self.documents < 1:
            raise ValueError(f"documents must be at least 1, got {self.documents}")
        for label, count in enumerate(frequencies):
            if not 0 <= count <= self.documents:
                raise ValueError(
                    f"label {label} has frequency {count}, "
                    f"expected 0 to {self.documents} (the number of documents)"
                )
