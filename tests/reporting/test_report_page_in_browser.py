"""The page as a reader meets it: opened from a file by a browser that reaches no network."""

import io
import shutil
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from report_parts import LONG, TABLE, errors, page, result, rules, sure_of
from scipy import sparse

from losslab.losses import LOSSES
from losslab.reporting import CorpusPart, draw_cooccurrence
from losslab.reporting.definitions import MORE_METRICS

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="needs chromium and chromedriver on the path"
)
ALL = [*list(LOSSES)[:27], *list(LOSSES)[-4:]]  # with those of label smoothing
UNLIKE = next(name for name in ALL if name not in ("bce", "focal"))
WHY = "recipe.training.epochs is 100, expected 300"
DIAGNOSIS = {
    "findings": [
        {"key": "start", "text": "Start with bce: no other loss is better.", "details": []},
        {"key": "silent", "text": "31 losses never predict some label.", "details": ["focal: 2."]},
    ]
}
PATIENCE = 600  # seconds: a machine that trains meanwhile draws slowly
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(PATIENCE)
    driver.set_page_load_timeout(PATIENCE)
    driver.command_executor.client_config.timeout = PATIENCE
    driver.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    values = {name: 0.3 + 0.01 * place for place, name in enumerate(ALL)}
    metrics = {
        name: result(value, probability=LOSSES[name].decision == "probability")
        | {"rules": rules(value)}
        for name, value in values.items()
    }
    file = tmp_path_factory.mktemp("page") / "latest.html"
    file.write_text(
        page(
            metrics,
            uncertainty=sure_of(["focal"]),
            mistakes={name: errors(name) for name in ALL},
            differs={UNLIKE: WHY},
            command="kedro run",
            diagnosis=DIAGNOSIS,
            options={name: LOSSES[name].defaults() for name in ALL} | {"focal": {"gamma": 1.5}},
        ),
        encoding="utf-8",
    )
    return file.as_uri()


@pytest.fixture
def opened(browser, address):
    resize(browser, 1280)
    show_system(browser, "light")
    load(browser, address)
    browser.execute_script("localStorage.clear(); setTheme(null)")
    browser.get_log("browser")
    return browser


def load(browser, address):
    """Open the page and wait for its scripts: on a busy machine ``get`` may come back earlier."""
    from selenium.webdriver.support.wait import WebDriverWait

    browser.get(address)
    WebDriverWait(browser, PATIENCE).until(
        lambda page: page.execute_script("return document.readyState") == "complete"
    )


def resize(browser, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def show_system(browser, theme):
    feature = {"name": "prefers-color-scheme", "value": theme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def draw_everything(browser):
    browser.execute_script("Object.keys(data.figures).forEach(draw)")


def click(browser, selector):
    browser.execute_script("document.querySelector(arguments[0]).click()", selector)


def losses_shown(browser):
    script = "return [...document.querySelectorAll('#losses tbody tr:not([hidden])')]"
    return browser.execute_script(f"{script}.map(row => row.dataset.loss)")


def lines_in_colour(browser, figure):
    script = (
        "return document.getElementById(arguments[0]).data"
        ".filter(t => t.meta && t.showlegend !== false).map(t => t.meta.loss)"
    )
    return set(browser.execute_script(script, figure))


def background(browser):
    return browser.execute_script("return getComputedStyle(document.body).backgroundColor")


def cells(browser, table):
    return browser.execute_script(
        "return [...document.querySelectorAll(`#${arguments[0]} tr`)]"
        ".map(row => [...row.cells].map(cell => cell.innerText))",
        table,
    )


def seen(browser, selector):
    """The text of an element as a reader sees it, and its colour."""
    script = (
        "const e = document.querySelector(arguments[0]);"
        "return [e.innerText, getComputedStyle(e).color]"
    )
    return browser.execute_script(script, selector)


@pytest.mark.parametrize("width", [1280, 390])
def test_page_of_31_losses_loads_and_draws_without_a_network_or_an_error(browser, address, width):
    resize(browser, width)
    load(browser, address)
    draw_everything(browser)
    assert browser.get_log("browser") == []
    assert len(losses_shown(browser)) == 31
    drawn = "return document.querySelectorAll('.plot .main-svg').length"
    names = browser.execute_script("return Object.keys(data.figures).length")
    assert browser.execute_script(drawn) >= names


@pytest.mark.parametrize("width", [1280, 390])
def test_page_is_as_wide_as_the_screen_and_rows_do_not_overlap(browser, address, width):
    resize(browser, width)
    load(browser, address)
    draw_everything(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    for figure, rows in {"group_scores": 31, "ranks": 30}.items():
        places = browser.execute_script(
            "return [...document.querySelectorAll('#' + arguments[0] + ' .ytick text')]"
            ".map(t => { const box = t.getBoundingClientRect(); return [box.top, box.bottom]; })",
            figure,
        )
        assert len(places) == rows
        ordered = sorted(places)
        for (_, bottom), (top, _) in pairwise(ordered):
            assert top >= bottom - 2


def test_sorting_follows_the_button_and_tells_screen_readers(opened):
    assert losses_shown(opened) == ALL[::-1]
    head = "document.querySelector('th[data-column=micro_f1]').getAttribute('aria-sort')"
    click(opened, "[data-sort=micro_f1]")
    assert opened.execute_script(f"return {head}") == "descending"
    assert losses_shown(opened) == ALL[::-1]
    click(opened, "[data-sort=micro_f1]")
    assert opened.execute_script(f"return {head}") == "ascending"
    assert losses_shown(opened) == ALL
    click(opened, "[data-sort=loss]")
    assert losses_shown(opened) == sorted(ALL, key=lambda name: name.replace("_", " "))


def test_lower_is_better_puts_the_lowest_on_top_and_the_unknown_last(opened):
    click(opened, "[data-sort=ranking_loss]")
    assert losses_shown(opened) == ALL
    click(opened, "[data-sort=calibration_error]")
    unknown = {name for name in ALL if LOSSES[name].decision == "score"}
    assert set(losses_shown(opened)[-len(unknown) :]) == unknown
    click(opened, "[data-sort=calibration_error]")
    assert set(losses_shown(opened)[-len(unknown) :]) == unknown


def test_filters_keep_the_rows_that_fit_and_say_how_many(opened):
    from selenium.webdriver.common.by import By

    opened.find_element(By.ID, "find").send_keys("focal")
    kept = {name for name in ALL if "focal" in f"{name} {LOSSES[name].title}".lower()}
    assert set(losses_shown(opened)) == kept
    count = opened.find_element(By.ID, "count")
    assert count.text == f"{len(kept)} of 31 losses"
    opened.find_element(By.ID, "find").clear()
    family = opened.find_element(By.ID, "family")
    family.send_keys("pairs")
    assert {LOSSES[name].family for name in losses_shown(opened)} == {"pairs"}


def test_columns_can_be_shown_and_hidden(opened):
    hidden = "return document.querySelector('td[data-column=weighted_f1]').hidden"
    assert opened.execute_script(hidden)
    click(opened, ".columns input[data-column=weighted_f1]")
    assert not opened.execute_script(hidden)


def test_few_losses_of_a_figure_are_in_colours_of_their_own_ticked_or_not(opened):
    script = "return document.getElementById('hard_and_soft_loss').data.map(t => t.line.color)"
    for losses in (["bce", "focal"], ["kwls", "focal"]):
        opened.execute_script("choose(arguments[0])", losses)
        draw_everything(opened)
        colours = opened.execute_script(script)
        assert len(colours) == 3
        (own,) = set(colours)
        focal = opened.execute_script("return colour(colourName('focal'))")
        assert own not in (focal, opened.execute_script("return colour('--mute')"))
        told = "return document.getElementById('missing-hard_and_soft_loss').hidden"
        assert opened.execute_script(told)


def test_single_documents_are_shown_of_the_loss_that_is_chosen(opened):
    draw_everything(opened)
    lines = "return document.getElementById('example_scores').data.map(t => [t.name, t.y[0]])"
    select = "#one-example_scores"
    assert (
        opened.execute_script("return document.querySelector(arguments[0]).value", select) == "bce"
    )
    first = opened.execute_script(lines)
    assert [name.partition(":")[0] for name, _ in first][:2] == ["documents", "upper quartile"]
    opened.execute_script(
        "const box = document.querySelector(arguments[0]); box.value = 'focal';"
        "box.dispatchEvent(new Event('change'))",
        select,
    )
    assert opened.execute_script(lines) != first


def test_figures_follow_the_losses_that_are_ticked(opened):
    draw_everything(opened)
    first = {*ALL[:-6:-1], "bce"}
    assert lines_in_colour(opened, "learning_curves") == first
    click(opened, ".choose[value=focal]")
    draw_everything(opened)
    assert lines_in_colour(opened, "learning_curves") == first | {"focal"}
    click(opened, "[data-choose=none]")
    draw_everything(opened)
    assert lines_in_colour(opened, "learning_curves") == set()
    click(opened, ".choose[value=warp]")
    click(opened, "#alone")
    draw_everything(opened)
    names = opened.execute_script(
        "return document.getElementById('learning_curves').data.map(t => t.meta.loss)"
    )
    assert names == ["warp"]
    alike = opened.execute_script(
        "return document.getElementById('similar_labels').data.map(t => [t.name, t.visible])"
    )
    assert alike == [["warp", True]]
    told = opened.execute_script("return document.getElementById('missing-reliability').innerText")
    assert "warp" in told
    rows = opened.execute_script(
        "return document.getElementById('group_scores').layout.yaxis.tickvals"
    )
    assert rows == ["warp"]


def test_figure_is_downloaded_as_a_png_in_three_times_the_pixels_of_the_screen(opened, tmp_path):
    from selenium.webdriver.support.wait import WebDriverWait

    behaviour = {"behavior": "allow", "downloadPath": str(tmp_path)}
    opened.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
    draw_everything(opened)
    click(opened, "#ranks .modebar-btn")
    file = tmp_path / "ranks.png"
    WebDriverWait(opened, PATIENCE).until(lambda _: file.exists())
    width = opened.execute_script("return document.getElementById('ranks')._fullLayout.width")
    header = file.read_bytes()[:20]
    assert header.startswith(b"\x89PNG")
    assert int.from_bytes(header[16:20]) == int(3 * width)


def test_scatter_shows_the_two_losses_that_are_chosen(opened):
    script = """
    const select = document.getElementById("scatter-x");
    select.value = "focal"; select.dispatchEvent(new Event("change"));
    const traces = document.getElementById("label_scatter").data;
    return [traces.flatMap(t => [...t.x]), data.labels.focal];
    """
    shown, expected = opened.execute_script(script)
    assert sorted(shown) == sorted(expected)


def test_mistakes_are_those_of_the_loss_that_is_chosen(opened):
    script = """
    const select = document.getElementById("errors-loss");
    select.value = "focal"; select.dispatchEvent(new Event("change"));
    return [...document.querySelectorAll("#pairs tr")].map(row => row.innerText.split("\\t"));
    """
    rows = opened.execute_script(script)
    assert len(rows) == 12
    assert rows[0] == ["gold of focal", "silver", "3.5"]
    assert cells(opened, "within") == [[LONG, f"{LONG}, alike", "1.5"]]
    assert cells(opened, "bands") == [
        ["1 label", "30", "0.500", "0.250"],
        ["2 labels or more", "14", "0.400", "0.200"],
        ["2-4", "14", "0.400", "0.200"],
    ]
    assert cells(opened, "deciles")[0] == ["1", "3", "9 to 2", "0.500", "0.250"]
    told = opened.execute_script("return document.getElementById('confusions').innerText")
    assert told.startswith("focal: 90.5 confusions, 1.5 of them")


def test_interval_and_p_are_seen_when_ticked(opened):
    cell = "tr[data-loss=focal] td[data-column=macro_f1]"
    assert "p = 0.010" not in seen(opened, cell)[0]
    click(opened, "#intervals")
    for part in ("0.450 to 0.560", "+0.100", "p = 0.010"):
        assert part in seen(opened, cell)[0]


def test_what_is_worse_has_another_colour_than_what_is_better_even_if_it_is_higher(opened):
    click(opened, ".columns input[data-column=ranking_loss]")
    row = "tr[data-loss=focal]"
    better, worse = (
        seen(opened, f"{row} td[data-column={key}] .sign") for key in ("macro_f1", "ranking_loss")
    )
    assert better[0] == worse[0] == "▲"
    assert better[1] != worse[1]


def test_unlike_loss_says_why_in_its_row(opened):
    assert WHY in seen(opened, f"tr[data-loss={UNLIKE}] th")[0]


@pytest.mark.parametrize("table", ["#within", "#losses tbody"])
def test_names_leave_room_for_figures_on_a_phone(browser, address, table):
    resize(browser, 390)
    load(browser, address)
    widths = browser.execute_script(
        "return [...document.querySelectorAll(`${arguments[0]} th`)].map(e => e.scrollWidth)", table
    )
    assert max(widths) < 200
    assert min(widths) > 60
    heights = browser.execute_script(
        "return [...document.querySelectorAll('.loss')].map(e => e.offsetHeight)"
    )
    assert max(heights) < 30  # a loss's name stays in one line


def test_theme_follows_the_system_until_a_reader_chooses_and_is_remembered(opened, address):
    light = background(opened)
    show_system(opened, "dark")
    dark = background(opened)
    assert dark != light
    click(opened, "input[name=theme][value=light]")
    assert background(opened) == light
    load(opened, address)
    assert background(opened) == light
    click(opened, "input[name=theme][value=system]")
    assert background(opened) == dark


def test_definition_opens_by_its_button_and_closes_by_escape(opened):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    button = opened.find_element(By.CSS_SELECTOR, ".card .define")
    button.send_keys(Keys.ENTER)
    definition = opened.find_element(By.ID, "define-macro_f1")
    assert definition.is_displayed()
    assert "Mean of the labels' F1" in definition.text
    button.send_keys(Keys.ESCAPE)
    assert not definition.is_displayed()


@pytest.mark.parametrize(
    ("place", "linked"),
    [
        ("latest.html", True),
        ("report.html/2026-01-01T00.00.00.000Z/report.html", True),
        ("copied.html", False),
    ],
)
def test_page_of_soft_labels_is_linked_from_the_newest_report_and_every_version(
    browser, tmp_path, place, linked
):
    file = tmp_path / "probe" / place
    file.parent.mkdir(parents=True)
    file.write_text(page({"bce": result(0.4)}, soft_labels_page=True), encoding="utf-8")
    load(browser, file.as_uri())
    shown, address = browser.execute_script(
        "const part = document.querySelector('[data-beside]');"
        "return [!part.hidden, part.querySelector('a').href]"
    )
    assert shown == linked
    if linked:
        assert address == (tmp_path / "soft_labels/soft_labels.html").as_uri()


def rectangles(browser, selector):
    script = (
        "return [...document.querySelectorAll(arguments[0])].map(e => e.getBoundingClientRect())"
        ".map(box => [box.left, box.top, box.right, box.bottom])"
    )
    return browser.execute_script(script, selector)


def overlap(one, other, margin=1.0):
    return (
        min(one[2], other[2]) - max(one[0], other[0]) > margin
        and min(one[3], other[3]) - max(one[1], other[1]) > margin
    )


@pytest.mark.parametrize("width", [1280, 390])
def test_diagnosis_begins_on_the_first_screen_and_its_details_open(browser, address, width):
    resize(browser, width)
    load(browser, address)
    assert rectangles(browser, "#diagnosis")[0][1] < 880
    assert "focal: 2." not in seen(browser, "#diagnosis")[0]
    click(browser, "#diagnosis summary")
    assert "focal: 2." in seen(browser, "#diagnosis")[0]


def test_numbers_of_the_rank_map_keep_their_colours_when_the_others_are_hidden(opened):
    script = """
    const rows = new Map();
    for (const text of document.querySelectorAll("#ranks .heatmap-label text")) {
      const box = text.getBoundingClientRect(), y = Math.round((box.top + box.bottom) / 2);
      rows.set(y, [...(rows.get(y) || []), [text.textContent, getComputedStyle(text).fill]]);
    }
    const losses = document.getElementById("ranks").layout.yaxis.tickvals;
    const ordered = [...rows].sort((a, b) => a[0] - b[0]).map(entry => entry[1]);
    return Object.fromEntries(losses.map((loss, row) => [loss, ordered[row]]));
    """
    opened.execute_script("choose(['focal', 'warp', 'bce'])")
    draw_everything(opened)
    every = opened.execute_script(script)
    assert len(every) == 30
    assert len({colour for row in every.values() for _, colour in row}) == 2  # on dark, on light
    click(opened, "#alone")
    draw_everything(opened)
    shown = opened.execute_script(script)
    assert set(shown) == {"focal", "warp", "bce"} - {UNLIKE}
    assert shown == {loss: every[loss] for loss in shown}


def test_words_of_when_to_choose_a_loss_find_it_and_an_empty_table_says_so(opened):
    from selenium.webdriver.common.by import By

    words = LOSSES["db"].choose_when.split()[:3]
    find = opened.find_element(By.ID, "find")
    find.send_keys(" ".join(words))
    expected = {
        name
        for name in ALL
        for text in [
            f"{name} {LOSSES[name].title} {LOSSES[name].family} {LOSSES[name].choose_when}"
        ]
        if all(word.lower() in text.lower() for word in words)
    }
    assert "db" in expected
    assert set(losses_shown(opened)) == expected
    empty = opened.find_element(By.ID, "empty")
    assert not empty.is_displayed()
    find.send_keys(" no such loss")
    assert losses_shown(opened) == []
    assert "No loss fits" in empty.text
    click(opened, "#clear")
    assert len(losses_shown(opened)) == 31


@pytest.mark.parametrize("width", [1280, 390])
def test_each_loss_has_a_question_mark_that_tells_when_how_and_where_from(browser, address, width):
    from selenium.webdriver.common.by import By

    resize(browser, width)
    load(browser, address)
    button = browser.find_element(By.CSS_SELECTOR, "[popovertarget=about-focal]")
    browser.execute_script(
        "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button
    )
    button.click()
    about = browser.find_element(By.ID, "about-focal")
    assert about.is_displayed()
    for part in (
        LOSSES["focal"].choose_when,
        "(1 - p_t)^gamma",
        "gamma=1.5",
        LOSSES["focal"].paper,
    ):
        assert part in about.text
    assert "gamma=1.5 (not the default)" in about.text
    left, top, right, bottom = rectangles(browser, "#about-focal")[0]
    assert min(left, top) >= 0
    assert right <= width
    assert bottom <= 900
    about.find_element(By.CSS_SELECTOR, "button[popovertargetaction=hide]").click()
    assert not about.is_displayed()


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_p_does_not_break(browser, tmp_path, width):
    file = tmp_path / "latest.html"
    metrics = {"bce": result(0.4), "db": result(0.5)}
    file.write_text(page(metrics, uncertainty=sure_of(["db"], 1.0)), encoding="utf-8")
    resize(browser, width)
    load(browser, file.as_uri())
    lines = "return [...document.querySelectorAll('.together')].map(e => e.getClientRects().length)"
    assert set(browser.execute_script(lines)) == {1}


def test_titles_of_axes_keep_clear_of_the_names_of_labels(browser, tmp_path):
    names = [f"Impact: Execute Unauthorized Code or Commands, {place}" for place in range(33)]
    counts = sparse.csr_array(np.full((33, 33), 3) + np.diag(np.arange(40, 7, -1)))
    plots = {"cooccurrence_map": draw_cooccurrence(counts, names)}
    file = tmp_path / "latest.html"
    text = page({"bce": result(0.4)}, corpus=CorpusPart(TABLE, [], plots))
    file.write_text(text, encoding="utf-8")
    resize(browser, 1280)
    load(browser, file.as_uri())
    draw_everything(browser)
    for axis in "xy":
        (title,) = rectangles(browser, f"#cooccurrence_map .{axis}title")
        ticks = rectangles(browser, f"#cooccurrence_map .{axis}tick text")
        assert len(ticks) == 33
        assert not [tick for tick in ticks if overlap(title, tick)]


def test_headers_of_the_rank_map_stay_apart_on_a_phone(browser, address):
    resize(browser, 390)
    load(browser, address)
    draw_everything(browser)
    heads = rectangles(browser, "#ranks .xtick text")
    shown = browser.execute_script("return document.getElementById('ranks').data[0].x.length")
    assert shown >= len(heads) >= shown // 2  # where there is no room for all, every other one
    assert not [pair for pair in pairwise(sorted(heads)) if overlap(*pair)]


def test_a_table_wider_than_the_screen_says_that_it_scrolls_until_its_end(browser, address):
    from selenium.webdriver.support.wait import WebDriverWait

    def told(browser):
        return browser.execute_script(
            "const part = document.querySelector('#comparison .scroll');"
            "return part.classList.contains('more') && !part.nextElementSibling.hidden"
        )

    resize(browser, 390)
    load(browser, address)
    WebDriverWait(browser, PATIENCE).until(told)
    browser.execute_script("document.querySelector('#comparison .scroll').scrollLeft = 9999")
    WebDriverWait(browser, PATIENCE).until(lambda browser: not told(browser))


def test_legends_name_losses_in_the_order_of_the_table(opened):
    opened.execute_script("choose(['bce', 'focal', 'warp', 'zlpr', 'asl'])")
    draw_everything(opened)
    order = opened.execute_script("return choice.losses")
    for figure in ("precision_recall", "learning_curves", "similar_labels"):
        script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
        names = opened.execute_script(script, f"#{figure} .legendtext")
        assert names == order


@pytest.mark.parametrize("key", list(MORE_METRICS))
def test_more_metrics_can_be_chosen_as_columns(opened, key):
    click(opened, f".columns input[data-column='{key}']")
    text, _ = seen(opened, f"tr[data-loss=focal] td[data-column='{key}']")
    assert f"{0.3 + 0.01 * ALL.index('focal'):.3f} ± 0.010" in text


def exported(browser, ending, folder):
    from selenium.webdriver.support.wait import WebDriverWait

    behaviour = {"behavior": "allow", "downloadPath": str(folder)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
    click(browser, f"[data-export={ending}]")
    file = folder / f"cwe_probe.{ending}"
    WebDriverWait(browser, PATIENCE).until(lambda _: file.exists())
    return file.read_text(encoding="utf-8")


def test_the_table_is_exported_as_it_is_shown(opened, tmp_path):
    click(opened, "[data-sort=loss]")
    click(opened, ".columns input[data-column=head\\/macro_f1]")
    order = losses_shown(opened)
    table = pd.read_csv(io.StringIO(exported(opened, "csv", tmp_path)))
    assert table["loss"].tolist() == order
    assert "head macro-F1" not in table
    expected = [0.3 + 0.01 * ALL.index(loss) for loss in order]
    assert table["macro-F1"].tolist() == pytest.approx(expected)
    assert set(table["macro-F1 std"]) == {0.01}

    rows = [line.split(" | ") for line in exported(opened, "md", tmp_path).splitlines()]
    assert {len(row) for row in rows} == {6}
    best = max(order, key=ALL.index)
    bold = [row for row in rows if "**" in row[2]]
    assert [row[0] for row in bold] == [f"| {best}"]
    assert bold[0][2] == f"**{0.3 + 0.01 * ALL.index(best):.3f} ± 0.010**"

    latex = exported(opened, "tex", tmp_path)
    assert latex.count(" & ") == 5 * (len(order) + 1)
    assert "ls\\_classic & " in latex
    assert f"\\textbf{{{0.3 + 0.01 * ALL.index(best):.3f} $\\pm$ 0.010}}" in latex


def test_every_control_has_a_name(opened):
    nameless = opened.execute_script(
        "return [...document.querySelectorAll('button, input, select')].filter(e => "
        "!e.innerText?.trim() && !e.getAttribute('aria-label') && !e.labels?.length).length"
    )
    assert nameless == 0
