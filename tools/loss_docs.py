"""Writes docs/losses.md from the loss classes, their docstrings and a run of the numerical contract.

``python tools/loss_docs.py`` rewrites the file; its section on cost, measured by
``benchmarks/loss_cost.py --markdown``, is kept as it stands. A test compares the two.
"""

import inspect
import re
import warnings
from importlib import import_module
from pathlib import Path

import torch

from losslab.losses import LOSSES, Hyperparameter, LabelStatistics, Loss, build_loss

PAGE = Path(__file__).parents[1] / "docs" / "losses.md"
COST = re.compile(r"<!-- cost -->.*<!-- /cost -->", flags=re.DOTALL)
DECISIONS = {
    "probability": "a probability; above 0.5, or above one threshold tuned on validation",
    "score": "a score without a natural threshold; above one tuned on validation",
}
SIZES = {torch.float64: 1e4, torch.float32: 1e4, torch.float16: 6e4, torch.bfloat16: 1e4}
TARGETS = {
    "no positive": torch.zeros(3, 4),
    "only positives": torch.ones(3, 4),
    "one row": torch.tensor([[1.0, 0.0, 1.0, 0.0]]),
}
INTRODUCTION = """# The losses

<!-- written by tools/loss_docs.py: change the docstrings instead -->

Each loss is a class, a `torch.nn.Module`:

```python
from losslab.losses import FocalLoss, LabelStatistics, build_loss

loss = FocalLoss(gamma=1.0)  # by class
loss = build_loss("focal", gamma=1.0)  # by name
value = loss(logits, targets)  # documents x labels in, a scalar out
value = loss(logits, targets, {"epoch": 3})  # with what some losses need besides, the context
```

Logits in, never probabilities; inputs are not changed; half-precision logits are computed in
float32. Defaults stand in the signature of the class, their sources in its annotations.
[How to use a loss in a training loop or in Trainer](using_the_losses.md) is a page of its own.
"""
CONSTRUCTOR = {"statistics": "statistics", "groups": "groups=...", "task": 'task="multi"'}


def main() -> None:
    PAGE.write_text(render(PAGE.read_text() if PAGE.exists() else ""), encoding="utf-8")


def render(current: str) -> str:
    """The page; the cost section comes from ``current``."""
    parts = [INTRODUCTION]
    for module in dict.fromkeys(loss.__module__ for loss in LOSSES.values()):
        parts += [f"## {family_title(module)}\n", _prose(import_module(module))]
        parts += [describe(loss) for loss in LOSSES.values() if loss.__module__ == module]
    parts += ["## The numerical contract\n", contract_table(), "## Cost\n"]
    kept = COST.search(current)
    parts.append(kept.group() if kept else "<!-- cost -->\n<!-- /cost -->")
    return "\n".join(parts) + "\n"


def family_title(module: str) -> str:
    """The title of a family: its module's docstring up to the first colon."""
    title, colon, _ = (inspect.getdoc(import_module(module)) or "").partition(":")
    if not colon or "\n" in title:
        raise ValueError(f'{module}: begin its docstring with """<title of the family>: ...')
    return title


def describe(loss: type[Loss]) -> str:
    """One loss: its class, what it does, its options with their sources, how decisions are made."""
    summary, _, rest = _prose(loss).partition("\n\n")
    lines = [f"### `{loss.name}`: {loss.title}\n", _usage(loss), f"{summary}\n"]
    lines += [display(loss.formula), rest]
    lines.append(f"*Source:* {loss.paper}. *Decides by* {_decision(loss)}.")
    if in_context := [need for need in loss.needs if need not in CONSTRUCTOR]:
        lines.append(f"*Needs in the context:* {', '.join(f'`{need}`' for need in in_context)}.")
    if loss.threshold_logit:
        lines.append("*A model with it* learns one logit more, the threshold of each document.")
    lines.append("")
    if loss.options():
        lines += ["| option | default | bounds | searched | source of the default |"]
        lines += ["|---|---|---|---|---|"]
        lines += [
            f"| `{option.name}` | {option.default} | {_bounds(option)} | {_searched(option)} "
            f"| {option.source} |"
            for option in loss.options().values()
        ]
        lines.append("")
    return "\n".join(lines)


def display(formula: str) -> str:
    """A block of mathematics, as GitHub and the site render it: a line for each row."""
    rows = re.sub(r"\\\\\s*", r"\\\\\n", formula)
    return f"```math\n\\begin{{split}}\n{rows}\n\\end{{split}}\n```\n"


def _decision(loss: type[Loss]) -> str:
    """What labels are predicted by; single-label tasks have argmax."""
    rules = {"multi": DECISIONS[loss.decision], "single": "argmax on single-label data"}
    if loss.tasks == ("single",):
        return "argmax"
    return "; ".join(rules[task] for task in loss.tasks)


def _usage(loss: type[Loss]) -> str:
    arguments = ", ".join(CONSTRUCTOR[need] for need in loss.needs if need in CONSTRUCTOR)
    name = loss.__name__
    return f"Class: `from losslab.losses import {name}`; `{name}({arguments})`.\n"


def _bounds(option: Hyperparameter) -> str:
    """The values an option takes, as words or an interval."""
    words = [repr(choice) for choice in option.choices]
    if bool in option.types:
        words += ["true or false"]
    elif option.minimum is not None and option.maximum is not None:
        words += [f"{option.minimum:g} to {option.maximum:g}"]
    elif option.minimum is not None:
        words += [f"at least {option.minimum:g}"]
    elif float in option.types:
        words += ["a number"]
    return " or ".join(words)


def _searched(option: Hyperparameter) -> str:
    """What ``kedro search`` tries."""
    words = ["each word"] if option.choices else ["both"] if bool in option.types else []
    values = [f"{value:g}" for value in option.search]
    if len(values) > 2:
        words += [", ".join(values)]
    elif values:
        words += [" to ".join(values) + (" (log)" if option.log else "")]
    return " or ".join(words) or "no"


def _prose(thing: object) -> str:
    """A docstring without its doctests and roles, one paragraph per blank line."""
    text = re.sub(r":\w+:`", "`", inspect.getdoc(thing) or "")
    return re.sub(r"\n*^>>> .*", "", text, flags=re.DOTALL | re.MULTILINE).strip() + "\n"


def contract_table() -> str:
    """What a run of every loss at the edges gave."""
    heads = [f"{str(d).removeprefix('torch.')} ±{size:g}" for d, size in SIZES.items()]
    lines = ["| loss | " + " | ".join([*heads, "soft targets", "tasks"]) + " |"]
    lines.append("|---" * (len(heads) + 3) + "|")
    for loss in LOSSES.values():
        cells = [_outcome(loss, dtype, size) for dtype, size in SIZES.items()]
        soft = "yes" if loss.accepts_soft_targets else "refused"
        lines.append(
            f"| `{loss.name}` | " + " | ".join([*cells, soft, ", ".join(loss.tasks)]) + " |"
        )
    note = (
        "\nFinite means value and gradient, for logits all at the bound, all at its negative and mixed; "
        f"rows with {', '.join(TARGETS)}; labels of no training document and of every one.\n"
    )
    return "\n".join(lines) + "\n" + note


def _outcome(loss: type[Loss], dtype: torch.dtype, size: float) -> str:
    statistics = LabelStatistics(frequencies=[0, 9, 3, 1], documents=9, mu=0.3)
    groups = {"groups": [0, 0, 1, 1]} if "groups" in loss.needs else {}
    for targets in TARGETS.values():
        signs = torch.tensor([1.0, -1.0]).repeat(2).expand_as(targets)
        for logits in (
            size * torch.ones_like(targets),
            -size * torch.ones_like(targets),
            size * signs,
        ):
            leaf = logits.to(dtype).requires_grad_()
            context = {
                "second_logits": torch.zeros_like(leaf),
                "soft_targets": torch.full_like(targets, 0.25),
                "mask": torch.ones_like(targets),
                "lam": 0,
                "epoch": 1,
            }
            with warnings.catch_warnings(action="ignore"):
                value = build_loss(loss.name, statistics, **groups)(leaf, targets, context)
            value.backward()
            if not value.isfinite():
                return "not finite"
            if not leaf.grad.isfinite().all():
                return "value finite, gradient not"
    return "finite"


if __name__ == "__main__":
    main()
