"""Documentation that is written by the code stays true to it."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import data_docs  # noqa: E402
from loss_docs import PAGE, render  # noqa: E402


def test_the_page_on_losses_is_what_the_table_docstrings_and_contract_give():
    current = PAGE.read_text(encoding="utf-8")
    assert render(current) == current, "run: python tools/loss_docs.py"


def test_the_page_has_a_measured_cost_for_every_loss_and_none_is_over_its_limit():
    cost = PAGE.read_text(encoding="utf-8").split("<!-- cost -->")[1]
    from losslab.losses import LOSSES

    for name in LOSSES:
        assert f"| {name} |" in " ".join(cost.split())
    assert "over the limit" not in cost


def test_the_page_on_data_is_what_the_sources_and_environments_give():
    current = data_docs.PAGE.read_text(encoding="utf-8")
    assert data_docs.render(current) == current, "run: python tools/data_docs.py"
