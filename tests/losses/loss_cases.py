"""What the tests of all losses share: batches, contexts, and losses built for six labels."""

import math

import torch
from hypothesis import strategies as st

from losslab.losses import LOSSES, LabelStatistics, build_loss

torch.set_num_threads(1)  # the tensors are small: threads would only wait for each other

FREQUENCIES, DOCUMENTS, GROUPS = [120, 45, 30, 9, 3, 1], 150, [0, 0, 1, 1, 1, 2]
STATISTICS = LabelStatistics(FREQUENCIES, DOCUMENTS, mu=0.3)
SINGLE = [
    (name, {"task": "single"} if "task" in loss.needs else {})
    for name, loss in LOSSES.items()
    if "task" in loss.needs or "multi" not in loss.tasks
]
VARIANTS = [
    *((name, {}) for name in LOSSES),
    ("focal", {"gamma": 0.5}),
    ("focal", {"gamma": 1.0}),
    ("db", {"gamma": 0.0}),
    ("db", {"gamma": 0.5}),
    ("ntr_focal", {"ntr_negative_scale": "code"}),
    ("asl", {"clip": 0.0}),
    ("asl", {"gamma_pos": 1.5, "gamma_neg": 0.5}),
    ("asl", {"gamma_neg": 0.0}),
    ("comic", {"gamma_neg": 0.0}),
    ("apl", {"epsilon1": 0.0, "epsilon2": 1.0, "clip": 0.0}),
    ("ral", {"gamma_neg": 0.5, "level": 1.0}),
    ("hill", {"gamma": 0.5, "margin": 0.0, "level": 2.0}),
    ("splc", {"start_epoch": 9}),
    ("splc", {"start_epoch": 0, "margin": 0.5}),
    ("llr", {"rate": 0.2, "limit": 1.0}),
    ("ncrl", {"shift": 0.1}),
    ("two_way", {"positive_temperature": 0.5, "negative_temperature": 2.0}),
    ("ranking", {"margin": 0.0}),
    ("tlpr", {"s0": -1.5}),
    ("soft_f1", {"average": "micro"}),
    ("soft_f1", {"average": "present", "f_beta": 2.0}),
    ("sigmoid_f1", {"input": "probability", "beta": 10.0, "eta": -0.5}),
    ("sbayes_f1", {"draw_per": "document"}),
    ("ce_count", {"per_label": False}),
    ("mask_element", {"protect_gold": False}),
    ("kwls", {"task": "single"}),
    ("kwls", {"auxiliary": "sigmoid"}),
]
DRAWING = [  # losses that draw in training mode, so often that a few steps tell two streams apart
    ("lsep", {"pairs": 3}),
    ("ce_tencent", {}),
    ("mask_label", {"alpha": 0.5}),
    ("mask_element", {"alpha": 0.5}),
    ("sbayes_f1", {}),
    ("sbayes_f1", {"draw_per": "document"}),
]


def identify(value):
    """A readable test id for a name or its options."""
    if isinstance(value, dict):
        return ",".join(f"{option}={setting}" for option, setting in value.items()) or "defaults"
    return None


def build(name, options=None, statistics=STATISTICS, groups=GROUPS):
    """The loss with what it needs besides options."""
    needed = {"groups": groups} if "groups" in LOSSES[name].needs else {}
    return build_loss(name, statistics, **needed, **(options or {}))


def draw_batch(rows=5, labels=6, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(rows, labels, generator=generator, dtype=dtype)
    return logits, (torch.rand(rows, labels, generator=generator) < 0.4).to(dtype)


def draw_context(rows=5, labels=6, dtype=torch.float64, seed=1):
    """A context that serves every loss, and leaves none a draw to make."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    return {
        "mask": torch.rand(rows, labels, generator=generator) < 0.5,
        "lam": 0,
        "selected": torch.rand(labels, generator=generator) < 0.5,
        "second_logits": normal(rows, labels),
        "soft_targets": torch.softmax(normal(rows, labels), dim=1),
        "epoch": 2,
        "beta": torch.exp(normal(rows)),
        "eta": normal(rows),
    }


BY_ROW = ("mask", "second_logits", "soft_targets", "beta", "eta")
BY_LABEL = ("mask", "second_logits", "soft_targets")


def pick_rows(context, rows):
    return {key: value[rows] if key in BY_ROW else value for key, value in context.items()}


def pick_labels(context, labels):
    picked = {key: v[:, labels] if key in BY_LABEL else v for key, v in context.items()}
    return picked | {"selected": context["selected"][labels]}


def value_and_gradient(loss, logits, targets, context=None):
    logits = logits.clone().requires_grad_()
    value = loss(logits, targets, context)
    value.backward()
    return value.detach(), logits.grad


@st.composite
def batches(draw, size=15.0):
    """Logits and targets as lists of rows: one to five documents and labels."""
    rows, labels = draw(st.integers(1, 5)), draw(st.integers(1, 5))

    def table(entries):
        row = st.lists(entries, min_size=labels, max_size=labels)
        return draw(st.lists(row, min_size=rows, max_size=rows))

    return table(st.floats(-size, size)), table(st.integers(0, 1))


def as_tensors(batch, dtype=torch.float64):
    logits, targets = batch
    return torch.tensor(logits, dtype=dtype), torch.tensor(targets, dtype=dtype)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def softplus(x):
    return math.log1p(math.exp(x))


def slow_bce(z, y):
    return softplus(z) - y * z


def mean(values):
    values = list(values)
    return sum(values) / len(values)
