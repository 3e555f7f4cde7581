"""``losslab predict``: a model folder labels texts, without a project around it."""

import sys
from pathlib import Path
from typing import Any

import click

from losslab.errors import LosslabError

FILE = click.Argument(["file"])
LABELLING: list[click.Parameter] = [
    click.Option(["--rule"], help="Decision rule; by default the model's primary one."),
    click.Option(["--text"], help="Column of the text, or several, comma-separated."),
    click.Option(["--id"], help="Column of an id that goes along."),
    click.Option(
        ["--top"],
        type=click.IntRange(0),
        help="Labels whose probability is told though they are not predicted.",
    ),
    click.Option(["--explain"], is_flag=True, help="Name the words that each label hangs on."),
]
"""Options that every way to label a file has."""


@click.group(name="losslab")
def main() -> None:
    """Label texts by a model folder of losslab."""


@main.command(
    params=[
        FILE,
        click.Option(["--model"], required=True, help="A folder that kedro export wrote."),
        click.Option(
            ["--output"], default="-", show_default=True, help="CSV, JSON lines (.jsonl), or -."
        ),
        *LABELLING,
    ]
)
def predict(file: str, model: str, output: str, **options: Any) -> None:
    """Label the texts of FILE: a CSV, JSON lines, a text on each line, or - for standard input.

    \b
    losslab predict --model=my_model texts.csv --output=labels.csv
    cat texts.txt | losslab predict --model=my_model -
    """
    from losslab.inference.folder import load

    try:
        told = label_file(load(model), file, output, **_given(options))
    except LosslabError as error:
        raise click.ClickException(str(error)) from error
    click.echo(told, err=True)


def label_file(
    classifier: Any,
    file: str,
    output: str,
    *,
    text: str | list[str] = "text",
    explain: bool = False,
    id: str | None = None,  # noqa: A002 - the name of the option
    **options: Any,
) -> str:
    """Label a file, or ``-``; a sentence that says what was written.

    ``explain``: beside the labels a page, with the same name and ``.html``.
    """
    from losslab.inference.text_files import STREAM, LabelledRows, TextFile, spool, write_labels
    from losslab.temporary import scratch_folder

    with scratch_folder() as folder:
        path = spool(sys.stdin.buffer, Path(folder)) if file == STREAM else Path(file)
        rows = LabelledRows(classifier, TextFile(path, text, id), explain=explain, **options)
        written = write_labels(output, rows, explained=explain)
        rule = classifier.require_rule(options.get("rule"))
        told = f"{output}: {written:,} texts, rule {rule}, {classifier!r}"
        if explain and output != STREAM:
            told += f"\n{write_page(rows, Path(output))}: their words coloured"
    return told


def write_page(rows: Any, output: Path) -> Path:
    """The page of explanations beside a file of labels."""
    from losslab.inference.explanation_page import render_explanations
    from losslab.temporary import write_text

    page = output.with_suffix(".html")
    title = f"Why these labels: {rows.classifier.model.facts.method.name}, {rows.texts.path.name}"
    write_text(page, render_explanations(rows, title=title))
    return page


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that are set; columns as a list."""
    given = {name: value for name, value in options.items() if value is not None}
    if "text" in given:
        given["text"] = split_columns(given["text"])
    return given


def split_columns(names: str) -> str | list[str]:
    """One column, or several that are separated by commas.

    >>> split_columns("text"), split_columns("title, body")
    ('text', ['title', 'body'])
    """
    parts = [name.strip() for name in names.split(",") if name.strip()]
    return parts if len(parts) > 1 else names.strip()
