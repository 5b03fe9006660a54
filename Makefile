# Everything runs from .venv, which the targets make from requirements.lock when it is missing or old.
PYTHON ?= python3
SEEDS ?= 1
JOBS ?= 1
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export MPLBACKEND := Agg

.DEFAULT_GOAL := help
.PHONY: help install quickstart test test-slow gpu-check paper-tables docs linkcheck check format bench lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(READY) ## create .venv with the locked dependencies and the package

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
# uv, itself pinned in the lock, installs the rest in parallel
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

quickstart: $(READY) ## from nothing to a table: 8 methods on 1,797 handwritten digits (SEEDS=3 for the spread)
	$(BIN)/hashbench run digits --seeds $(SEEDS) --jobs $(JOBS)
	$(BIN)/hashbench table digits --write

test: $(READY) ## the default tests: offline, on the CPU, minutes
	$(BIN)/python -m pytest -n auto --dist worksteal

test-slow: $(READY) ## the long tests too
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'not gpu and not network'

# with an environment of one's own: make gpu-check BIN=/its/bin READY=
gpu-check: $(READY) ## tests, speed and a short training on a GPU; says what it skips without one
	$(BIN)/python -m pytest -m gpu -rs; tests=$$?; $(BIN)/python benchmarks/gpu.py && exit $$tests

paper-tables: $(READY) ## render every declared table from the stored rows
	$(BIN)/hashbench table --all --write

docs: $(READY) ## the documentation as a site: docs/_build/html/index.html; a warning or a broken link fails
	$(BIN)/python -m sphinx -b html -j auto -W --keep-going -q docs docs/_build/html

linkcheck: $(READY) ## open every link to the outside that the documentation has; needs the internet
	$(BIN)/python -m sphinx -b linkcheck -q docs docs/_build/linkcheck

check: $(READY) ## formatter, linter and strict types over the package
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

format: $(READY) ## format and mend what the linter can mend
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(READY) ## the benchmarks, side by side with their alternatives
	for script in benchmarks/[!_]*.py; do $(BIN)/python $$script; done

lock: $(READY) ## pin the dependencies anew, with hashes, for all systems and Pythons
	$(BIN)/uv pip compile pyproject.toml --universal --generate-hashes --python-version 3.11 --extra train \
		--group dev --group docs --no-header --no-annotate --upgrade --output-file requirements.lock

clean: ## remove .venv, caches and the built site; results stay
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist docs/_build
