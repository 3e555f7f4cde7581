"""The model card: what a model is, how well it did, and where it should not be trusted."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from losslab.data.corpus_summary import summary_lines
from losslab.data.download.sources import SOURCES
from losslab.inference.model import TrainedModel
from losslab.parameters import TextSettings
from losslab.reporting.comparison import markdown_table
from losslab.reporting.definitions import HEADLINE_METRICS, METRICS, RULES

FEW_DOCUMENTS = 10
"""Training documents below which a label's F1 is mostly chance."""
MAX_LABELS = 50
"""Labels that are listed."""


HOW_TO_USE = (
    "import losslab",
    "",
    'classifier = losslab.load("this folder")',
    'classifier.predict(["a text"])',
)


def write_card(model: TrainedModel, *, use: Sequence[str] = HOW_TO_USE) -> str:
    """The card in Markdown, written from the results that the report shows, too.

    ``use``: lines of Python that load the model and label a text.
    """
    sections = [_head(model), _use(use), _data(model), _metrics(model), _rules(model)]
    sections += [_limits(model), _provenance(model)]
    return "\n\n".join(sections) + "\n"


def _conditions(model: TrainedModel) -> Mapping[str, Any]:
    conditions: Mapping[str, Any] = model.record["metrics"].get("conditions", {})
    return conditions


def _dataset(model: TrainedModel) -> str:
    return str(_conditions(model).get("dataset", "unknown data"))


def _head(model: TrainedModel) -> str:
    facts = model.facts
    recipe = facts.recipe.name if facts.recipe else "TF-IDF"
    return "\n".join(
        [
            "---",
            "library_name: losslab",
            "pipeline_tag: text-classification",
            "tags: [losslab, text-classification, long-tailed]",
            "---",
            f"# {facts.method.name} on {escape_markdown(_dataset(model))} ({recipe})",
            "",
            f"{facts.title}. {facts.task.capitalize()}-label classification of texts with "
            f"{len(model.labels)} labels, seed {facts.seed}, chosen on validation.",
        ]
    )


def _use(lines: Sequence[str]) -> str:
    return "\n".join(["## Use", "", "```python", *lines, "```"])


def _data(model: TrainedModel) -> str:
    source = SOURCES.get(_dataset(model))
    about = [f"{source.about.capitalize()}. Licence: {source.licence}."] if source else []
    rows = [
        {
            "split": row["split"],
            "documents": f"{row['instances']:,.0f}",
            "words each": f"{row['average_words']:.0f}",
            "labels": f"{row['categories']:.0f}",
            "labels each": f"{row['cardinality']:.2f}",
        }
        for row in model.record["corpus"]["splits"]
    ]
    notes = [
        f"- {escape_markdown(line)}" for line in summary_lines(model.record["corpus"]["summary"])
    ]
    return "\n".join(["## Data", "", *about, "", *_table(rows), "", *notes]).rstrip()


def _metrics(model: TrainedModel) -> str:
    results = model.record["metrics"]
    own = results["seeds"].get(str(model.facts.seed), {})
    rows = [
        {
            "metric": METRICS[name].name,
            "this seed": f"{own[name]:.3f}" if name in own else "",
            "mean over seeds": f"{results['mean'][name]:.3f}",
            "interval": _interval(results["intervals"].get(name)),
        }
        for name in HEADLINE_METRICS
        if name in results["mean"]
    ]
    mark = results.get("training", {}).get("mark")
    return "\n".join(
        [
            "## Metrics",
            "",
            f"Test split, decision rule `{results['rule']}`, seeds {', '.join(results['seeds'])}. "
            "Intervals are bootstrap intervals over test documents.",
            "",
            *_table(rows),
            *(["", f"**{mark}**"] if mark else []),
        ]
    )


def _interval(bounds: Mapping[str, float] | None) -> str:
    return f"[{bounds['low']:.3f}, {bounds['high']:.3f}]" if bounds else ""


def _rules(model: TrainedModel) -> str:
    rows = [
        {
            "rule": f"`{name}`" + (" (primary)" if name == model.rules["primary"] else ""),
            "meaning": RULES[name].meaning if name in RULES else "",
            "value": _decision(decision),
        }
        for name, decision in model.rules["rules"].items()
    ]
    return "\n".join(["## Decision rules", "", "Fitted on validation.", "", *_table(rows)])


def _decision(decision: Mapping[str, Any]) -> str:
    """A decision in figures.

    >>> _decision({"threshold": 0.12345}), _decision({"k": 2}), _decision({"thresholds": [0.1, 0.5]})
    ('0.123', 'k = 2', '0.1 to 0.5')
    """
    if "k" in decision:
        return f"k = {decision['k']}"
    if "thresholds" in decision:
        return f"{min(decision['thresholds']):.3g} to {max(decision['thresholds']):.3g}"
    return f"{decision['threshold']:.3g}"


def _limits(model: TrainedModel) -> str:
    return "\n".join(["## Limits", "", *(f"- {line}" for line in _limit_lines(model))])


def _limit_lines(model: TrainedModel) -> Iterator[str]:
    facts = model.facts
    counts = zip(model.labels, facts.frequencies, strict=True)
    rare = sorted((count, label) for label, count in counts if count < FEW_DOCUMENTS)
    if rare:
        named = ", ".join(
            f"{escape_markdown(label)} ({count})" for count, label in rare[:MAX_LABELS]
        )
        more = f", and {len(rare) - MAX_LABELS} more" if len(rare) > MAX_LABELS else ""
        yield (
            f"{len(rare)} of {len(model.labels)} labels have fewer than {FEW_DOCUMENTS} training "
            f"documents, so that little is known of them: {named}{more}."
        )
    settings = facts.recipe and facts.recipe.model
    if isinstance(settings, TextSettings):
        yield (
            f"Of a text it reads {settings.max_length} tokens at most ({settings.truncation} of "
            "longer ones)."
        )
    if facts.decision == "score":
        yield "Scores are no probabilities: they order labels, and thresholds belong to them."
    else:
        yield "Probabilities are not calibrated; thresholds were tuned for F1."
    yield "Thresholds hold for texts like those of the validation split. Labels are those of training."


def _provenance(model: TrainedModel) -> str:
    made = model.record["provenance"]
    lines = [f"- losslab {model.facts.losslab}"]
    lines += [f"- command: `{made['command']}`"] if made.get("command") else []
    commit = made.get("git_commit") or made.get("commit")
    lines += [f"- commit: {commit}"] if commit else []
    versions = made.get("versions") or {}
    lines += [f"- {name} {version}" for name, version in versions.items() if version]
    fitted = ", ".join(f"{name} {value}" for name, value in model.rules["fitted_with"].items())
    return "\n".join(["## Provenance", "", *lines, f"- thresholds fitted with: {fitted}"])


def _table(rows: list[dict[str, str]]) -> list[str]:
    """Rows as a Markdown table; none where there are no rows."""
    return [markdown_table(list(rows[0]), [list(row.values()) for row in rows])] if rows else []


def escape_markdown(text: str) -> str:
    """A text of the data as Markdown and HTML show it: no markup, one line.

    >>> escape_markdown("a|b *c* <i>")
    'a\\\\|b \\\\*c\\\\* &lt;i&gt;'
    """
    flat = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\`*_{}\[\]|#])", r"\\\1", flat)
