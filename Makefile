# Everything happens in .venv and node_modules; nothing is installed system-wide. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The first interpreter that is new enough; `make PYTHON=python3.13 …` names another.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
HOST ?= 127.0.0.1
PORT ?= 8000
ARGS ?=
SEED ?=
ROUNDS ?= 3
MINUTES ?= 10

# Sets are in the same order in each run of the tests.
test test-python test-oldest test-versions attack fleet kills soak samples: export PYTHONHASHSEED = 0

# A module is compiled once, not by every worker and server of the tests.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
PYTHON_READY := .venv/.ready
COMPILE := $(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --quiet \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"
# DBOS wants a newer SQLAlchemy than the rest.
COMPILE_OLDEST := $(subst --all-extras,--extra otlp --extra postgres --extra prometheus --extra redis,$(COMPILE))
OLDEST := .venv-oldest/bin
OLDEST_READY := .venv-oldest/.ready
VERSIONS ?= $(shell sed -n 's/.*:: Python :: \(3\.[0-9]*\)".*/\1/p' pyproject.toml)
NODE_PROJECTS := $(patsubst %/package-lock.json,%,$(wildcard \
	frontend-fixtures/package-lock.json server/page/package-lock.json))
FRONTENDS := $(patsubst %/package-lock.json,%,$(wildcard \
	$(addsuffix /package-lock.json,$(addprefix examples/,assistant-ui frontend-tests nextjs react svelte vue) \
	tests/frontends/create-next-app tests/frontends/ai-v*/*)))
NODE_VERSION := $(shell node --version 2>/dev/null)
MEET_ADK := $(addprefix tests/,adk stream session serving recording check replay_server conformance testing typescript cli)
# The search for secrets in texts and numbers takes half a minute, and is the same on all versions of ADK.
MEET_ADK += $(addprefix --ignore=tests/recording/test_,numbers.py search_work.py text_redaction.py)
# As tests/conftest.py orders them: not the files with most tests first.
BY_FILE := --dist loadfile --no-loadscope-reorder
# What is heavy has a target of its own.
LIGHT := not attacks and not fleet and not kills and not samples and not frontends and not pages and not release and not site and not soak
PYTHON_ALONE := not node and not browser and not store and not processes and $(LIGHT)
# The tools under test run on Node 20.19 and later.
NODE_OK := $(shell node -e 'const [a, b] = process.versions.node.split("."); console.log(a > 20 || (a == 20 && b >= 19) ? 1 : "")' 2>/dev/null)
NODE_READY := $(if $(NODE_OK),$(NODE_PROJECTS:%=%/node_modules/.ready),node-missing)
FRONTENDS_READY := $(if $(NODE_OK),$(FRONTENDS:%=%/node_modules/.ready),node-missing)

.PHONY: help setup setup-oldest setup-frontends demo test test-python test-oldest test-versions frontends pages attack fleet kills soak samples release docs site hunt check static coverage bench lock page clean python-there node-missing

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(PYTHON_READY) $(NODE_READY)  ## make .venv with the locked packages; npm ci where Node is there
setup-oldest: $(OLDEST_READY)
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

$(OLDEST_READY): pyproject.toml requirements/oldest.txt | python-there
	$(PYTHON) -m venv --clear .venv-oldest
	$(OLDEST)/pip install --quiet --disable-pip-version-check --no-deps --no-compile --require-hashes \
		--requirement requirements/oldest.txt
	$(OLDEST)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

%/node_modules/.ready: %/package.json %/package-lock.json
	cd $* && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

node-missing:
	@echo "Node 20.19 or later is not here$(if $(NODE_VERSION), ($(NODE_VERSION) is)): the tests that need it will be skipped."

demo: $(PYTHON_READY)  ## talk with the demo agent in a browser: http://127.0.0.1:$PORT
	@$(BIN)/adk-ui-stream demo --host $(HOST) --port $(PORT) $(ARGS)

test: setup  ## every test; make test ARGS="-k name" for some
	$(BIN)/python -m pytest $(if $(ARGS),$(ARGS),-m "$(LIGHT)" -n 4 $(BY_FILE))

fleet: setup  ## engines and real servers with Redis, PostgreSQL and nginx, killed and frozen; FLEET_SECONDS=600: for longer
	$(BIN)/python -m pytest -m fleet -n 6 $(BY_FILE) $(ARGS)

kills: setup  ## workers killed at any moment before real clients that come back; SEEDS="7 8": other conversations than the fixed ones
	KILLS_SEEDS="$(or $(SEEDS),$(SEED))" $(BIN)/python -m pytest -m kills -n 3 $(ARGS)

soak: setup  ## thousands of chats before two workers: what they leave behind; MINUTES=10
	@mkdir -p build
	SOAK_MINUTES=$(MINUTES) SOAK_RECORD=build/soak.json $(BIN)/python -m pytest -m soak $(ARGS)

attack: setup  ## hostile clients of real servers: what each got, and what it cost others; three minutes
	$(BIN)/python -m pytest -m attacks $(ARGS)

samples: setup  ## agents of all kinds before the real client, models' streams cut anywhere: two minutes
	$(BIN)/python -m pytest -m samples -n 2 $(BY_FILE) $(ARGS)

release: setup  ## wheel and sdist, each installed alone on each supported Python that is here, and used: two minutes
	$(BIN)/python -m pytest -m release -n 2 --dist loadgroup $(ARGS)

test-python: $(PYTHON_READY)  ## the tests that need no Node, browser, Redis, PostgreSQL or processes of their own
	$(BIN)/python -m pytest -m "$(PYTHON_ALONE)" -n 3 $(BY_FILE) $(ARGS)

test-oldest: $(OLDEST_READY)  ## the tests that meet ADK, on the oldest versions that pyproject.toml permits
	$(OLDEST)/python -m pytest -m "$(PYTHON_ALONE)" -n 3 $(BY_FILE) $(if $(ARGS),$(ARGS),$(MEET_ADK))

# A pyenv has a command for each Python of its own on the PATH; those that it was not told to use do not run.
# COVERAGE=yes: the first of them counts what the tests reach, so no further run is needed for that.
test-versions: $(PYTHON_READY)  ## test-python on each supported Python that is here, but SKIP="3.11"
	@ran="" missing="" failed="" tests="$(PYTHON_ALONE)"; \
	for version in $(filter-out $(SKIP),$(VERSIONS)); do \
		python=$$(for python in python$$version "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$version.*/bin/python; do \
			"$$python" -c "" 2>/dev/null && echo "$$python" && break; done) || { missing+=" $$version"; continue; }; \
		ran+=" $$version"; \
		$(MAKE) --no-print-directory .venv-$$version/.ready PYTHON="$$python"; \
		if [ -n "$(COVERAGE)" ] && [ "$$ran" = " $$version" ]; then \
			$(MAKE) --no-print-directory coverage BIN=.venv-$$version/bin || failed+=" $$version"; \
			tests="no_cover and $(PYTHON_ALONE)"; \
		fi; \
		.venv-$$version/bin/python -m pytest -m "$$tests" -n 3 $(BY_FILE) $(ARGS) || failed+=" $$version"; \
		tests="$(PYTHON_ALONE)"; \
	done; \
	[ -z "$(COVERAGE)" ] || [ -n "$$ran" ] || $(MAKE) --no-print-directory coverage; \
	echo "Python versions that ran:$${ran:- none}. Not found:$${missing:- none}. Failed:$${failed:- none}."; \
	[ -z "$$failed" ]

frontends: setup setup-frontends  ## build the examples that have a page, drive them in Chromium, compile pages with an agent's types
	$(BIN)/python -m pytest -m frontends -n 2 --dist loadscope $(ARGS)

pages: setup setup-frontends  ## each feature of the built page in Chromium, with `ai` 6 and 7: three minutes
	$(BIN)/python -m pytest -m pages -n 2 $(BY_FILE) $(ARGS)

hunt: setup  ## tests that draw by chance, by new seeds: ROUNDS=3, MINUTES=10 at most; or by one, SEED=7
	@for seed in $(or $(SEED),$$($(BIN)/python -c 'import random; print(*random.sample(range(2**32), $(ROUNDS)))')); do \
		(( SECONDS < 60 * $(MINUTES) )) || break; \
		echo "The seed of this round is $$seed."; \
		PYTHONHASHSEED=$$seed $(BIN)/python -m pytest -m "hunt and not samples and not soak" -n 2 --hypothesis-seed=$$seed $(ARGS) \
			|| { echo "The same again: make hunt SEED=$$seed$(if $(ARGS), ARGS='$(ARGS)')"; exit 1; }; \
	done

docs: $(PYTHON_READY)  ## the documentation at http://127.0.0.1:$PORT, built anew after each change
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve --dev-addr $(HOST):$(PORT)

# Material tells of MkDocs 2 with each build.
site: $(PYTHON_READY)  ## the documentation as a site in build/site, and a look at it in Chromium
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	$(BIN)/python -m pytest -m site tests/website $(ARGS)

check: static coverage  ## format, lint, types, import rules, then what the tests cover

static: $(PYTHON_READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# Counting takes half as long again, so it is no part of `make test`. The whole is held to its bound by pytest itself.
coverage: $(PYTHON_READY)  ## the tests of single modules, and which lines and branches they reach
	$(BIN)/python -m pytest -m "not no_cover and not node and not samples and not release and not site" -n 3 $(BY_FILE) --cov
	$(BIN)/coverage report --include='stream_protocol/wire/*,stream_protocol/stream/*,stream_protocol/adk/*' --fail-under=100 --skip-covered

bench: $(PYTHON_READY)  ## speed, memory and load, as ratios taken in one run
	$(BIN)/python -m bench $(ARGS)

# The tools of the tests are the newest in both; `click` is one, too: its CliRunner of 8.1 mixes stdout and stderr.
lock: $(PYTHON_READY)  ## resolve the ranges of pyproject.toml anew into requirements/
	$(COMPILE) --group dev --group docs --upgrade --generate-hashes --output-file requirements/ci.txt
	$(COMPILE) --generate-hashes --no-annotate --constraint requirements/ci.txt --output-file requirements/server.txt
	$(BIN)/uv pip compile --group deploy --constraint requirements/ci.txt --generate-hashes --no-annotate --quiet --universal \
		--python-version 3.11 --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
		--output-file requirements/deploy.txt
	$(COMPILE_OLDEST) --group dev --upgrade --generate-hashes --no-annotate --output-file requirements/oldest.txt --constraint \
		<($(COMPILE_OLDEST) --resolution lowest-direct --no-header --no-annotate | grep -v ^click==)

page: $(NODE_READY)  ## build server/page into stream_protocol/page
	cd server/page && npm run build

clean:  ## remove what the other targets made
	rm -rf .venv .venv-* .coverage .coverage.* dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf $(addsuffix /node_modules,$(NODE_PROJECTS) $(FRONTENDS))
