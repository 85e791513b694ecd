PYTHON ?= python3
BIN = .venv/bin

.PHONY: setup paper test test-long fuzz lint coverage bench docs clean

setup: .venv/ready

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch .venv/ready

paper: setup
	$(BIN)/equirl paper

# Tests are compiled once, not in each run and each process, also where the environment forbids to keep bytecode.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal

test: setup
	$(PYTEST) -rs

# Statistical attacks that take minutes; make test holds a smaller version of each.
test-long: setup
	$(PYTEST) -m long -rs

# As long as it is given, with new seeds each time: make fuzz MINUTES=600
MINUTES = 60

fuzz: setup
	EQUIRL_FUZZ_MINUTES=$(MINUTES) $(PYTEST) -m fuzz -s

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Kernels are interpreted for their own tests, so that coverage sees their lines; the rest runs compiled.
KERNEL_TESTS = $(addprefix tests/,estimation planning clustering learners structure)

coverage: setup
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -m "not long and not fuzz" $(KERNEL_TESTS)
	$(BIN)/coverage run --append -m pytest -m "not long and not fuzz"
	$(BIN)/coverage report --skip-covered

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/equirl bench

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf .venv build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
