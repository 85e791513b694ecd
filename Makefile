PYTHON ?= python3
BIN = .venv/bin
INSTALL = -m pip install --quiet --disable-pip-version-check

.PHONY: setup paper test test-browser test-long test-lowest fuzz mutants lint coverage bench docs notebooks clean
.NOTPARALLEL:  # two installations in one environment would break it

setup: .venv/ready

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) -e '.[dev]'
	touch .venv/paper-ready .venv/ready

# The package and its figures are all that the paper needs; what is there for developers stays.
.venv/paper-ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) -e '.[plot]'
	touch .venv/paper-ready

paper: .venv/paper-ready
	$(BIN)/equirl paper

# Tests are compiled once, not in each run and each process, also where the environment forbids to keep bytecode.
# One process more than there are cores, for tests that wait for processes of their own.
WORKERS := $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test: setup
	$(PYTEST) -rs

# The page of equirl explore in a Chromium, which must be there.
test-browser: setup
	EQUIRL_NEEDS_BROWSER=1 $(PYTEST) -m browser -rs

# Statistical attacks that take minutes; make test holds a smaller version of each.
test-long: setup
	$(PYTEST) -m long -rs

# The lowest versions that pyproject.toml declares, of Python too, in an environment of their own.
LOWEST = .venv-lowest
LOWEST_PYTHON ?= python3.11

test-lowest: $(LOWEST)/ready
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/kernels $(LOWEST)/bin/python -m pytest -n auto --dist worksteal -rs

$(LOWEST)/ready: pyproject.toml tests/lowest_versions.py
	$(LOWEST_PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python tests/lowest_versions.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python $(INSTALL) --constraint $(LOWEST)/lowest.txt -e '.[test,docs]'
	touch $(LOWEST)/ready

# As long as it is given, with new seeds each time: make fuzz MINUTES=600
MINUTES = 60

fuzz: setup
	EQUIRL_FUZZ_MINUTES=$(MINUTES) $(PYTEST) -m fuzz -s

# Small wrong changes, one at a time, against the nearest tests: make mutants N=100, with SEED=7, WHERE=posterior/
N = 100
SEED = 0
WHERE =

mutants: setup
	$(BIN)/python tests/mutants.py $(N) --seed $(SEED) --where "$(WHERE)"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Kernels are interpreted for their own tests, so that coverage sees their lines; the rest runs compiled.
KERNEL_TESTS = $(addprefix tests/,estimation planning clustering learners structure)

coverage: setup
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -m "not long and not fuzz and not browser" $(KERNEL_TESTS)
	$(BIN)/coverage run --append -m pytest -m "not long and not fuzz and not browser"
	$(BIN)/coverage report --skip-covered

bench: setup
	$(BIN)/python $(INSTALL) -e '.[bench]'
	$(BIN)/equirl bench

# The four notebooks in docs/, run and written anew; the site runs and offers them by itself.
notebooks: setup
	$(BIN)/python docs/executed_pages.py

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf .venv $(LOWEST) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
