"""A made-up question-answer corpus in SQuAD's format: 12 articles, each about things of its own."""

import json
from pathlib import Path
from typing import Any

THINGS = [
    "tea",
    "rain",
    "iron",
    "wool",
    "salt",
    "glass",
    "paper",
    "stone",
    "milk",
    "sand",
    "oil",
    "ice",
]
PLACES = ["Oslo", "Lima", "Cairo"]


def passage(thing: str, place: str) -> dict[str, Any]:
    """Three sentences, and a question on each of the last two."""
    text = f"Much {thing} is known. The {thing} of {place} weighs nine tons. It was sold in May."
    return {
        "context": text,
        "qas": [
            question(
                f"{thing}-{place}-weight", f"What does the {thing} of {place} weigh?", text, "nine"
            ),
            question(f"{thing}-{place}-time", f"When was {thing} sold in {place}?", text, "May"),
        ],
    }


def question(name: str, words: str, text: str, answer: str) -> dict[str, Any]:
    answers = [{"answer_start": text.index(answer), "text": answer}]
    return {"id": name, "question": words, "answers": answers}


def articles() -> list[dict[str, Any]]:
    return [
        {"title": thing, "paragraphs": [passage(thing, place) for place in PLACES]}
        for thing in THINGS
    ]


def write_corpus(folder: Path, **files: list[dict[str, Any]]) -> Path:
    """The folder with a JSON file for each name; by default one of all articles."""
    folder.mkdir(parents=True)
    for name, content in (files or {"all": articles()}).items():
        (folder / f"{name}.json").write_text(json.dumps({"data": content}))
    return folder
