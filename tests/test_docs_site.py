"""The docs site: built without a warning, and read without a network."""

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from conftest import ROOT

from losslab.losses import LOSSES

sys.path.insert(0, str(ROOT / "tools"))

import docs_site
import docstrings
from loss_docs import display

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
NOTEBOOK = ROOT / "notebooks" / "04_add_a_loss.ipynb"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; a warning, such as a link that leads nowhere, ends the build."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


class Fetched(HTMLParser):
    """What a page makes a browser fetch."""

    def __init__(self, html):
        super().__init__()
        self.addresses = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        if tag == "link" and named.get("rel") not in ("canonical", "next", "prev"):
            self.addresses.append(named["href"])
        self.addresses += [named["src"]] if named.get("src") else []


@pytest.mark.slow
def test_pages_fetch_nothing_from_a_network(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        for address in Fetched(page.read_text(encoding="utf-8")).addresses:
            folder = site if re.match("/(?!/)", address) else page.parent  # as 404.html has them
            path = folder / address.partition("?")[0].lstrip("/")
            assert address.startswith("data:") or path.is_file(), (page, address)


@pytest.mark.slow
def test_the_page_of_losses_has_every_formula_as_mathml(site):
    page = (site / "losses.html").read_text(encoding="utf-8")
    assert page.count("<math ") == len(LOSSES)
    assert "\\begin" not in page


@pytest.mark.slow
def test_the_api_has_classes_with_their_docstrings(site):
    page = (site / "api" / "losses.html").read_text(encoding="utf-8")
    for loss in LOSSES.values():
        assert f'id="losslab.losses.{loss.__name__}"' in page
    assert ":class:" not in page
    assert "&gt;&gt;&gt;" not in re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)


@pytest.mark.slow
def test_search_knows_every_loss(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    titles = " ".join(entry["title"] for entry in index["docs"])
    assert all(loss.title in titles for loss in LOSSES.values())


@pytest.mark.slow
@pytest.mark.skipif(not BROWSER, reason="needs chromium")
def test_search_works_in_pages_opened_from_the_folder(site, tmp_path):
    words = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
    command = [BROWSER, *words.split(), f"--user-data-dir={tmp_path}", "--dump-dom"]
    command += ["--virtual-time-budget=10000", f"{(site / 'faq.html').as_uri()}?q=annealed"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    result = re.search(r'md-search-result__meta">(.*?)</ol>', done.stdout, flags=re.DOTALL)
    assert "/losses.html?h=annealed#sad_f1-sigmoidf1-annealed" in result[1]


@pytest.mark.parametrize("name", LOSSES)
def test_the_formula_of_a_loss_becomes_mathml(name):
    block = display(LOSSES[name].formula).removeprefix("```math\n").removesuffix("```\n")
    assert docs_site.render_formula(block).count("<mtr>") >= 1


def test_an_unknown_command_in_a_formula_is_told():
    with pytest.raises(docs_site.PluginError, match=r"\\nosuch"):
        docs_site.render_formula(r"\nosuch{x}")


def test_doctests_become_blocks_of_code_and_roles_plain_code():
    shown = docstrings.as_markdown("See :class:`Loss`.\n\n>>> 1 + 1\n2\n\nThen.\n>>> 3\n3")
    first, second = "```pycon\n>>> 1 + 1\n2\n```", "```pycon\n>>> 3\n3\n```"
    assert shown == f"See `Loss`.\n\n{first}\n\nThen.\n{second}"


def test_a_notebook_is_a_page_of_text_and_code():
    page = docs_site.notebook_page(NOTEBOOK)
    assert page.startswith("# Add a loss\n")
    assert f"notebooks/{NOTEBOOK.name}" in page
    assert "```python\nfrom typing import Annotated" in page
    assert "](../losses.md)" in page
    assert "](../contributing.md)" in page


def test_links_out_of_docs_lead_to_pages_of_the_site():
    text = "[a](../CONTRIBUTING.md#habits) [b](../notebooks/04_add_a_loss.ipynb) [c](data.md)"
    linked = docs_site.on_page_markdown(text)
    assert linked == "[a](contributing.md#habits) [b](tutorials/04_add_a_loss.md) [c](data.md)"
