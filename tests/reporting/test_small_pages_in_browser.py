"""Pages without a choice of losses: their figures are drawn, and no script fails."""

import pytest
import test_cross_validation_page
import test_retrieval_page
from test_report_page_in_browser import browser, pytestmark  # noqa: F401
from test_retrieval_page import comparison  # noqa: F401

__all__ = ["pytestmark"]


@pytest.mark.parametrize("name", ["retrieval", "cross_validation"])
def test_every_figure_is_drawn_and_no_script_fails(browser, comparison, tmp_path, name):  # noqa: F811
    pages = {
        "retrieval": lambda: test_retrieval_page.page(comparison),
        "cross_validation": test_cross_validation_page.page,
    }
    file = tmp_path / f"{name}.html"
    file.write_text(pages[name](), encoding="utf-8")
    browser.get(file.as_uri())
    plots = browser.execute_script(
        "return [...document.querySelectorAll('.plot')]"
        ".map(plot => plot.querySelectorAll('.main-svg .trace').length)"
    )
    assert plots
    assert all(traces > 0 for traces in plots)
    assert [
        line["message"] for line in browser.get_log("browser") if line["level"] == "SEVERE"
    ] == []
