"""The loss library: every loss by name, usable from any PyTorch code.

>>> from losslab.losses import LOSSES, LabelStatistics, build_loss
>>> statistics = LabelStatistics(frequencies=[90, 10, 3], documents=100, mu=0.5)
>>> loss = build_loss("db", statistics, gamma=1.0)

`LOSSES` is the table to add a loss to; importing it does not import torch.
"""

from losslab.losses.build import build_loss
from losslab.losses.spec import LabelStatistics, LossSpec, Option
from losslab.losses.table import LOSSES

__all__ = ["LOSSES", "LabelStatistics", "LossSpec", "Option", "build_loss"]
