# make run        set up, run every loss on the built-in corpus, show the comparison
# make results    run what docs/results lacks (hours; goes on when repeated); make results-page: tables from docs/results
# make test       set up, lint, type-check, run the tests
# make test-fast  set up, run the tests without whole pipelines, processes, browser or real data
# make test-long  all tests, also those too long for every change
# make docs       set up, build the docs site into build/site; make test builds it, too
# make coverage   the tests, and which lines they run: half as long again
PYTHON ?= python3
BIN := .venv/bin
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Modules are compiled when first imported; without bytecode every process would compile them again
unexport PYTHONDONTWRITEBYTECODE
# torch picks one thread per core; the tests run several processes. One more than cores: some wait for servers
TEST_WORKERS ?= 3
PYTEST := OMP_NUM_THREADS=1 pytest -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: run results results-page test test-fast test-long coverage docs lint lock viz mlflow clean
run: .venv/installed
	kedro run
	@echo "kedro lives in .venv: first '. .venv/bin/activate', or type make mlflow and make viz"

results: .venv/installed
	python tools/results.py --list
	python tools/results.py

results-page: .venv/installed
	python tools/results.py --page

# Not compiled here: most modules are never imported, and all take half a minute
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14) and 'losslab needs Python 3.11 to 3.13, found ' + sys.version.split()[0])"
	$(PYTHON) -m venv .venv
	$(INSTALL) --requirement requirements.lock
	$(INSTALL) --no-deps --editable .
	touch $@

.venv/installed-dev: .venv/installed requirements-dev.lock
	$(INSTALL) --requirement requirements-dev.lock
	touch $@

test: .venv/installed-dev lint
	$(PYTEST)

test-long: .venv/installed-dev
	$(PYTEST) --long

coverage: .venv/installed-dev
	$(PYTEST) --cov --cov-report=term

test-fast: .venv/installed-dev
	$(PYTEST) -m "not slow"

.PHONY: docs
docs: .venv/installed-dev
	NO_MKDOCS_2_WARNING=1 python -m mkdocs build

lint: .venv/installed-dev
	ruff check
	ruff format --check
	lint-imports
	mypy

viz: .venv/installed
	kedro viz

mlflow: .venv/installed
	kedro mlflow ui

# Resolve the ranges of pyproject.toml afresh and write them down
lock:
	tools/lock

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .mypy_cache .coverage
