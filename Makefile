# Everything runs from .venv, which the targets make from requirements.lock when it is missing or old.
PYTHON ?= python3
SEEDS ?= 1
JOBS ?= 1
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export MPLBACKEND := Agg
# the tests start hundreds of processes: without bytecode files each compiles what it imports
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help install quickstart reproduce test test-slow test-ray gpu-check paper-tables report settings docs linkcheck check format bench lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(READY) ## create .venv with the locked dependencies and the package

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
# uv, itself pinned in the lock, installs the rest in parallel; hundreds of processes of the tests read the bytecode
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.lock
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

quickstart: $(READY) ## train 8 methods on 1,797 handwritten digits and print their table (SEEDS=3: standard deviations)
	$(BIN)/hashbench run digits --seeds $(SEEDS) --jobs $(JOBS)
	$(BIN)/hashbench table digits --write
	@echo 'next: . $(BIN)/activate && hashbench encode digits-s1-talr_ap-32b-s0 --out codes.npz && hashbench eval codes.npz'

test: $(READY) ## run the default tests: minutes, offline, on the CPU
	$(BIN)/python -m pytest -n auto --dist worksteal

test-slow: $(READY) ## run the long tests too
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'not gpu and not network'

test-ray: $(READY) ## run the tests on a Ray cluster of two nodes that are not too long for every submission
	$(BIN)/python -m pytest -m ray tests/evaluation tests/runs

# to use another environment: make gpu-check BIN=/path/to/its/bin READY=
gpu-check: $(READY) ## run what needs a GPU in 8 minutes: a table of pass, speed and memory; skipped without one
	$(BIN)/python benchmarks/gpu.py --minutes 7

# runs that fail (exit code 1) leave their cells blank; anything else ends here
reproduce: $(READY) ## train what a table lacks, then print and write it: make reproduce TABLE=digits (SEEDS=3, JOBS=2)
	@test -n "$(TABLE)" || { echo "make reproduce: TABLE=NAME is missing: hashbench list tables shows the names" >&2; exit 2; }
	$(BIN)/hashbench run $(TABLE) --seeds $(SEEDS) --jobs $(JOBS); trained=$$?; test $$trained -le 1 || exit $$trained; \
	$(BIN)/hashbench table $(TABLE) --write && exit $$trained

# what tables and figures are made of, and they themselves: they are written again where any of it is newer than they
FOLDERS := $(addprefix results/,rows tune queries evidence benchmarks tables figures) experiments datasets
PARTS := $(shell find $(FOLDERS) 2>/dev/null; find hashbench -name '*.py')
PAPER_TABLES := $(VENV)/.paper-tables
paper-tables: $(PAPER_TABLES) ## write all tables and figures from the stored results

$(PAPER_TABLES): $(READY) $(PARTS)
	$(BIN)/hashbench table --all --write
	@touch $@

report: $(READY) ## write one page with all tables, figures and what is missing
	$(BIN)/hashbench report

# the pages of docs/settings: what the runs of the papers' tables are set to, beside what was released
SETTINGS := talr_table1 talr_table2 talr_table3 talr_appendix_d $(addprefix sparse_hash_table,1 2 3 4 5)
settings: $(READY) ## write the pages of the documentation that list the settings of the papers' tables
	for table in $(SETTINGS); do $(BIN)/hashbench list settings $$table --format markdown > docs/settings/$$table.md; done

docs: $(READY) ## build the documentation in docs/_build/html; a warning or a broken link fails
	$(BIN)/python -m sphinx -b html -j auto -W --keep-going -q docs docs/_build/html

linkcheck: $(READY) ## open the external links of the documentation; needs the internet
	$(BIN)/python -m sphinx -b linkcheck -q docs docs/_build/linkcheck

check: $(READY) ## check format, lint rules and types
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

format: $(READY) ## format the code and apply the linter's automatic fixes
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(READY) ## run all benchmarks
	for script in benchmarks/[!_]*.py; do $(BIN)/python $$script; done

lock: $(READY) ## update requirements.lock: dependencies with hashes, for all systems and Pythons
	$(BIN)/uv pip compile pyproject.toml --universal --generate-hashes --python-version 3.11 \
		--extra parquet --extra ray --extra search --extra timm --extra train --group dev --group docs \
		--no-header --no-annotate --upgrade --output-file requirements.lock

clean: ## remove .venv, caches and the built documentation; results are kept
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist docs/_build
