"""Takes pictures for docs/images in headless Chromium: report.png, viz.png, figures of sweeps.

``python tools/screenshots.py`` after ``kedro run``: it opens the newest report of the built-in
corpus, then starts ``kedro viz`` for as long as the picture takes.
``python tools/screenshots.py --sweeps trec/probe/mask_rate`` after ``kedro sweep``: the figure of each
sweep, ``sweep_<name>.png``.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
PORT = 4199
REST = 4  # seconds until a page has come to rest
COLOURS = 128  # of the palette: keeps a picture below 250 KB
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
VIZ_STATE = {"theme": "light", "visible": {"sidebar": False, "miniMap": False}}
HIDDEN = "[class^=feature-hints], [class^=update-reminder] { display: none !important }"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    page = ROOT / "data/08_reporting/cwe/probe/latest.html"
    parser.add_argument("--page", type=Path, default=page)
    parser.add_argument("--sweeps", nargs="+", metavar="DATASET/RECIPE/SWEEP")
    options = parser.parse_args()
    IMAGES.mkdir(parents=True, exist_ok=True)
    if options.sweeps:
        for sweep in options.sweeps:
            save_sweep(*sweep.rsplit("/", 1))
    else:
        save_report_and_viz(options.page)


def save_sweep(results: str, name: str) -> None:
    """The figure of a finished sweep; ``results``: dataset and recipe."""
    page = ROOT / "data/08_reporting" / results / "sweeps" / name / "latest.html"
    with browser(900, 900) as window:
        window.get(page.resolve(strict=True).as_uri())
        figure = WebDriverWait(window, 30).until(
            lambda w: w.find_element(By.CSS_SELECTOR, "#sweep .main-svg")
        )
        add_style(window, ".modebar { display: none }")
        time.sleep(REST)
        frame = figure.find_element(By.XPATH, "ancestor::figure")
        shrink(frame.screenshot_as_png, IMAGES / f"sweep_{name}.png")


def save_report_and_viz(page: Path) -> None:
    with browser(1280, 1000) as window:
        window.get(page.resolve().as_uri())
        WebDriverWait(window, 30).until(lambda w: w.find_elements(By.TAG_NAME, "table"))
        save(window, IMAGES / "report.png")
    with viz_server() as address, browser(1280, 800) as window:
        before = f"localStorage.setItem('KedroViz', '{json.dumps(VIZ_STATE)}')"
        window.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": before})
        window.get(address)
        WebDriverWait(window, 60).until(lambda w: w.find_elements(By.CLASS_NAME, "pipeline-node"))
        add_style(window, HIDDEN)
        save(window, IMAGES / "viz.png")


@contextmanager
def browser(width: int, height: int) -> Iterator[webdriver.Chrome]:
    """A headless Chromium with a window of that size."""
    options = webdriver.ChromeOptions()
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        driver = webdriver.ChromeService(shutil.which("chromedriver"))  # or Selenium asks the net
        window = webdriver.Chrome(options, driver)
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        try:
            yield window
        finally:
            window.quit()


@contextmanager
def viz_server() -> Iterator[str]:
    """The address of a ``kedro viz`` that ends with the block."""
    command = [sys.executable, "-m", "kedro", "viz", "run", "--no-browser", f"--port={PORT}"]
    server = subprocess.Popen(command, cwd=ROOT, start_new_session=True)  # noqa: S603
    address = f"http://127.0.0.1:{PORT}/"
    try:
        _wait_for(address)
        yield address
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # kedro viz serves in a child process
        server.wait()


def _wait_for(address: str, seconds: int = 120) -> None:
    for _ in range(seconds):
        try:
            urlopen(f"{address}api/main").close()  # noqa: S310
        except URLError:
            time.sleep(1)
        else:
            return
    raise TimeoutError(f"kedro viz does not answer at {address}")


def add_style(window: webdriver.Chrome, rules: str) -> None:
    """Add CSS rules to the page."""
    window.execute_script(
        "document.head.appendChild(document.createElement('style')).textContent = arguments[0]",
        rules,
    )


def save(window: webdriver.Chrome, path: Path) -> None:
    """Save what the window shows when it has come to rest."""
    time.sleep(REST)
    shrink(window.get_screenshot_as_png(), path)


def shrink(png: bytes, path: Path) -> None:
    """Save a picture with a small palette."""
    Image.open(BytesIO(png)).convert("RGB").quantize(COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    main()
