# Everything happens in .venv and node_modules; nothing is installed system-wide. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The first interpreter that is new enough; `make PYTHON=python3.13 …` names another.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
HOST ?= 127.0.0.1
PORT ?= 8000
NAME ?=
ARGS ?=
export PYTHON ARGS

# Sets have the same order in each run of the tests. `.ci/suite` may set another seed.
test test-python suite: export PYTHONHASHSEED = 0

# A module is compiled once, not by each worker and server of the tests.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
PYTHON_READY := .venv/.ready
NODE_PROJECTS := $(patsubst %/package-lock.json,%,$(wildcard \
	frontend-fixtures/package-lock.json server/page/package-lock.json))
FRONTENDS := $(patsubst %/package-lock.json,%,$(wildcard \
	$(addsuffix /package-lock.json,$(addprefix examples/,assistant-ui frontend-tests nextjs react svelte vue) \
	tests/frontends/create-next-app tests/frontends/ai-v*/*)))
NODE_VERSION := $(shell node --version 2>/dev/null)
# The tools under test run on Node 20.19 and later.
NODE_OK := $(shell node -e 'const [a, b] = process.versions.node.split("."); console.log(a > 20 || (a == 20 && b >= 19) ? 1 : "")' 2>/dev/null)
NODE_READY := $(if $(NODE_OK),$(NODE_PROJECTS:%=%/node_modules/.ready),node-missing)
FRONTENDS_READY := $(if $(NODE_OK),$(FRONTENDS:%=%/node_modules/.ready),node-missing)

.PHONY: help setup demo check test test-python docs site bench suite page lock clean setup-oldest setup-frontends python-there node-missing

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(PYTHON_READY) $(NODE_READY)  ## make .venv with the locked packages; npm ci where Node is there

demo: $(PYTHON_READY)  ## talk with the demo agent in a browser: http://127.0.0.1:$PORT
	@$(BIN)/adk-ui-stream demo --host $(HOST) --port $(PORT) $(ARGS)

check: $(PYTHON_READY)  ## format, lint, types and import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test: setup  ## every test that is not in a suite; make test ARGS="-k name" for some
	@.ci/suite test

test-python: $(PYTHON_READY)  ## the quick ones, without Node, browser, Redis, PostgreSQL or processes of their own
	@.ci/suite python

docs: $(PYTHON_READY)  ## the documentation at http://127.0.0.1:$PORT, built again after each change
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve --dev-addr $(HOST):$(PORT)

# Material announces MkDocs 2 in each build.
site: $(PYTHON_READY)  ## the documentation as a site in build/site, and a look at it in Chromium
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	$(BIN)/python -m pytest -m site tests/website $(ARGS)

bench: $(PYTHON_READY)  ## speed, memory and load, as ratios taken in one run
	$(BIN)/python -m bench $(ARGS)

suite: setup  ## one of the heavy suites, such as make suite NAME=fleet; without NAME, it lists them
	@.ci/suite $(NAME)

page: $(NODE_READY)  ## build server/page into stream_protocol/page
	cd server/page && npm run build

lock: $(PYTHON_READY)  ## resolve the ranges of pyproject.toml anew into requirements/
	@.ci/lock

clean:  ## remove what the other targets made
	rm -rf .venv .venv-* .coverage .coverage.* dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf $(addsuffix /node_modules,$(NODE_PROJECTS) $(FRONTENDS))

setup-oldest: .venv-oldest/.ready
setup-frontends: $(FRONTENDS_READY)

python-there:
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11 or later is needed: install it, or say make PYTHON=/path/to/python" >&2; exit 1; }

# uv comes first: pip takes a minute for all the others, uv some seconds.
$(PYTHON_READY): pyproject.toml requirements/ci.txt | python-there
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
		--requirement <(sed -n '/^uv==/,/^ *#/p' requirements/ci.txt)
	$(BIN)/uv pip install --quiet --python .venv --no-deps --require-hashes --requirement requirements/ci.txt
	$(BIN)/uv pip install --quiet --python .venv --no-deps --no-build-isolation --editable .
	@touch $@

.venv-3.%/.ready: pyproject.toml requirements/ci.txt | $(PYTHON_READY)
	$(BIN)/uv venv --quiet --clear --python $(PYTHON) $(@D)
	$(BIN)/uv pip install --quiet --python $(@D) --no-deps --require-hashes --requirement requirements/ci.txt
	$(BIN)/uv pip install --quiet --python $(@D) --no-deps --no-build-isolation --editable .
	@touch $@

.venv-oldest/.ready: pyproject.toml requirements/oldest.txt | python-there
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-compile --require-hashes \
		--requirement requirements/oldest.txt
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

%/node_modules/.ready: %/package.json %/package-lock.json
	cd $* && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

node-missing:
	@echo "Node 20.19 or later is not here$(if $(NODE_VERSION), ($(NODE_VERSION) is)): the tests that need it will be skipped."
