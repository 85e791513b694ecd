PYTHON ?= python3
BIN = .venv/bin

.PHONY: setup paper test fuzz mutants lint coverage bench docs clean

setup: .venv/ready

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch .venv/ready

paper: setup
	$(BIN)/equirl paper

test: setup
	$(BIN)/python -m pytest -n auto --dist worksteal -rs

# As long as it is given, with new seeds each time: make fuzz MINUTES=600
MINUTES = 60

fuzz: setup
	EQUIRL_FUZZ_MINUTES=$(MINUTES) $(BIN)/python -m pytest -m fuzz -n auto --dist worksteal -s

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
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -m "not slow and not fuzz" $(KERNEL_TESTS)
	$(BIN)/coverage run --append -m pytest -m "not slow and not fuzz"
	$(BIN)/coverage report --skip-covered

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/equirl bench

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf .venv build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
