# `make demo` needs python3 and git, and installs nothing; the others set up whatever they need, npm for the client.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
CLAUDE_VERSION := 2.1.325
CLAUDE := .cache/claude/node_modules/.ralphloop-$(CLAUDE_VERSION)
# What takes long or needs more than Python and git; the markers are told in pyproject.toml.
SLOW := client or slow or browser or services
PYTEST := $(BIN)/pytest -n 4 --dist worksteal
# Rewriting the tests takes longer than importing them: whatever the caller's shell says, it is kept.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test test-slow lint unit e2e bench conformance fuzz soak coverage mutate audit figures clean

# A function: $(call IS_NEW_ENOUGH,PROGRAM) ends the recipe with a sentence if the program is no Python for us.
IS_NEW_ENOUGH = command -v $(1) >/dev/null \
	|| { echo 'There is no $(1) here; ralphloop needs Python 3.10 or newer: try make $(MAKECMDGOALS) PYTHON=python3.12' >&2; exit 1; } \
	&& $(1) -c 'import sys; sys.version_info >= (3, 10) or sys.exit("ralphloop needs Python 3.10 or newer, and $(1) is %d.%d.%d: try make $(MAKECMDGOALS) PYTHON=python3.12" % sys.version_info[:3])'

help:
	@echo 'make demo    watch a scripted agent work through three tasks; installs nothing'
	@echo 'make test    lint, types, import contracts, the fast tests'
	@echo 'make test-slow   the other tests: the real client, the public cases, demo, wheel, kills'
	@echo 'make bench   what a stop costs, as ratios (BENCH="--quick" for a short run)'
	@echo 'make conformance   the public cases against our hook (CONFORMANCE="--hook …" for another)'
	@echo 'make fuzz    the model and the targets, a minute each (FUZZ="--seconds 300" for longer)'
	@echo 'make soak    faults, kills, load and fuzz for hours (SOAK="--only load --share 0.1" for minutes)'
	@echo 'make coverage, make mutate   how much the tests prove'
	@echo 'make audit   the locked dependencies'
	@echo 'make figures measure everything in docs/benchmarks.md anew'
	@echo 'make clean   remove the virtual environment, caches and the test client'

$(READY): pyproject.toml requirements/dev.txt
	@echo 'Setting up $(VENV) …'
	@$(call IS_NEW_ENOUGH,$(PYTHON))
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --require-hashes --requirement requirements/dev.txt
	@$(PIP) --no-deps --no-build-isolation --no-index --editable .
	@touch $@

# By number: on Node 20 npm otherwise picks an older version. The binary itself needs no Node.
$(CLAUDE):
	@echo 'Installing the client for the end-to-end tests (Claude Code $(CLAUDE_VERSION)) …'
	@npm install --silent --no-audit --no-fund --prefix .cache/claude '@anthropic-ai/claude-code@$(CLAUDE_VERSION)' \
		&& touch $@ || echo 'npm could not install it: the tests that need it will be skipped.'

demo:
	@$(call IS_NEW_ENOUGH,$(PYTHON))
	@$(PYTHON) src/ralphloop demo

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(PYTEST) -m 'not ($(SLOW))'

test-slow: $(READY) $(CLAUDE)
	$(PYTEST) -m '$(SLOW)'

unit: $(READY)
	$(BIN)/pytest tests/unit tests/contract tests/budget

e2e: $(READY) $(CLAUDE)
	$(PYTEST) tests/hook tests/e2e

bench: $(READY)
	$(BIN)/python benchmarks/run.py $(BENCH)

conformance: $(READY)
	$(BIN)/ralphloop conformance $(CONFORMANCE)

fuzz: $(READY)
	$(BIN)/python fuzz/run.py $(FUZZ)

soak: $(READY) $(CLAUDE)
	$(BIN)/python soak/run.py $(SOAK)

coverage: $(READY)
	$(BIN)/python scripts/branch_coverage.py $(COVERAGE)

mutate: $(READY)
	$(BIN)/python scripts/mutation_score.py $(MUTATE)

audit: $(READY)
	$(BIN)/python scripts/audit_lock.py

figures: $(READY)
	$(BIN)/python scripts/figures.py --measure

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache dist build
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
