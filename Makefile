# Each target makes what it needs, once. `make test` and `make lint` are all that a newcomer has to know.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BENCH  := .venv-bench
SHELL  := /bin/bash
APP    ?= examples/welcome.py
GENERATED := src/trimtab/kube src/trimtab/apiserver/facts src/trimtab/apiserver/access/roles.jsonl \
	src/trimtab/apiserver/standing.jsonl

.DEFAULT_GOAL := help
.PHONY: help install run test test-real lint format control-plane generate check-generated parity conformance fuzz kills scenarios bench lock clean

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

$(VENV)/installed: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "trimtab needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

install: $(VENV)/installed ## trimtab in .venv: .venv/bin/trimtab --help

run: $(VENV)/installed ## a local cluster with an app in it: make run APP=app.py ARGS="--nodes 3"
	@$(BIN)/trimtab dev $(APP) $(ARGS)

test: $(VENV)/installed ## all tests, the real control plane's among them (built at the first run)
	$(BIN)/python -m pytest

test-real: export TRIMTAB_KUBERNETES_VERSION ?=
test-real: $(VENV)/installed ## the real control plane's tests alone: make test-real TRIMTAB_KUBERNETES_VERSION=1.34.4
	$(BIN)/python -m pytest tests/real

control-plane: $(VENV)/installed ## the real control plane's binaries, found or built
	$(BIN)/python -m trimtab.testing.binaries

lint: $(VENV)/installed ## ruff, pyright, import-linter, deptry
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/deptry .

format: $(VENV)/installed ## what ruff can mend by itself
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

generate: $(VENV)/installed ## the files that say they are generated, out of a real API server
	$(BIN)/python tools/generate

check-generated: generate ## that they are as committed
	@git add --intent-to-add $(GENERATED) && git diff --exit-code --stat -- $(GENERATED) || { echo "generated files are not current: make generate, and commit"; exit 1; }

$(BENCH)/installed: requirements/bench.txt pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bench.txt
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

scenarios: $(VENV)/installed ## the local cluster beside a real control plane with nodes: make scenarios ARGS="--area jobs"
	$(BIN)/python -m tests.scenarios $(ARGS)

bench: $(BENCH)/installed ## side by side with peers: make bench ARGS="client --pods 1000"
	$(BENCH)/bin/python -m bench $(ARGS)

parity: export TRIMTAB_KUBERNETES_VERSION ?=
parity: $(VENV)/installed ## the server inside beside a real one: make parity ARGS="--show 'apply creates'" TRIMTAB_KUBERNETES_VERSION=1.34.4
	$(BIN)/python -m tests.parity $(ARGS)

conformance: export TRIMTAB_KUBERNETES_VERSION ?=
conformance: $(VENV)/installed ## Kubernetes' own conformance tests on the local cluster: make conformance ARGS="--focus ResourceQuota"
	$(BIN)/python -m tests.conformance $(ARGS)

fuzz: $(VENV)/installed ## 100,000 bad requests to the server inside: make fuzz ARGS="--seed 7 --requests 1000"
	$(BIN)/python -m tests.apiserver.fuzzing $(ARGS)

kills: $(VENV)/installed ## 1,000 kills of the server inside, and whether anything is lost: make kills ARGS="--kills 30"
	$(BIN)/python -m tests.apiserver.killing $(ARGS)

lock: $(VENV)/installed ## pin the requirements anew
	tools/lock

clean: ## forget the virtual environment and what tools cached here
	rm -rf $(VENV) $(BENCH) .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
