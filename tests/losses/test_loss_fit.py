"""Every loss trains: a linear model learns a small separable problem with it."""

import numpy as np
import pytest
import torch
from loss_cases import SINGLE, build, identify
from torch.nn import functional as F  # noqa: N812

from losslab.evaluation import compute_metrics, threshold_grid, tune_threshold
from losslab.losses import LOSSES, LabelStatistics

ROWS, LABELS, STEPS = 96, 5, 200
pytestmark = pytest.mark.filterwarnings("ignore:.*small for a loss over batches")


def draw_problem(positives):
    """Documents that carry so many labels each, and one noisy feature per label."""
    generator = torch.Generator().manual_seed(0)
    chosen = torch.rand(ROWS, LABELS, generator=generator).topk(positives).indices
    targets = torch.zeros(ROWS, LABELS).scatter_(1, chosen, 1.0)
    return targets + 0.1 * torch.randn(ROWS, LABELS, generator=generator), targets


def fit(loss, features, targets):
    torch.manual_seed(0)
    model = torch.nn.Linear(features.shape[1], LABELS)
    optimizer = torch.optim.Adam(
        [*model.parameters(), *loss.parameters()], lr=0.2, betas=(0.9, 0.9)
    )
    shares = targets / targets.sum(dim=1, keepdim=True).clamp_min(1)
    soft = 0.9 * (targets if loss.accepts_soft_targets else shares) + 0.1 / LABELS
    context = {"soft_targets": soft, "mask": torch.rand(ROWS, LABELS) < 0.3}
    for step in range(STEPS):
        context |= {"epoch": step // 10, "second_logits": model(F.dropout(features, 0.05))}
        value = loss(model(features), targets, context)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    loss.eval()
    with torch.no_grad():
        return loss.scores(model(features)).numpy()


@pytest.mark.parametrize("name", [n for n, row in LOSSES.items() if "multi" in row.tasks])
def test_multi_label_loss_fits_a_separable_problem(name):
    features, targets = draw_problem(positives=2)
    statistics = LabelStatistics(targets.sum(dim=0).int(), ROWS, mu=0.5)
    scores = fit(build(name, {}, statistics, groups=[0, 0, 1, 1, 1]), features, targets)
    truth = targets.numpy()
    natural = LOSSES[name].decision == "probability"
    cut = tune_threshold(truth, scores, threshold_grid(0.4, 0.6, 0.01) if natural else None)
    assert compute_metrics(truth, scores, scores > cut)["micro_f1"] > 0.97


@pytest.mark.parametrize(("name", "options"), SINGLE, ids=identify)
def test_single_label_loss_fits_a_separable_problem(name, options):
    features, targets = draw_problem(positives=1)
    scores = fit(build(name, options, None), features, targets)
    assert np.array_equal(scores.argmax(axis=1), targets.argmax(dim=1).numpy())
