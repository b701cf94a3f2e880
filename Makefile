# Two commands are all a newcomer needs: `make demo` and `make test`. Each sets itself up, with Python 3.11+ and make alone.
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-integrations environments check bench report compare dev-eval perf perf-tools load thorough clean

PYTHON ?= python3
PY := .venv/bin/python
READY := .venv/.ready

help: ## show what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Thymus needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...")'
	@echo "Setting up .venv (once; about a minute) ..."
	@$(PYTHON) -m venv .venv || { echo "Python cannot make a virtual environment: on Debian and Ubuntu, install python3-venv."; exit 1; }
	@$(PY) -m pip install --quiet --disable-pip-version-check uv
	@.venv/bin/uv pip install --quiet --python $(PY) -r requirements.lock
	@.venv/bin/uv pip install --quiet --python $(PY) --no-deps -e .
	@touch $@

setup: $(READY) ## make .venv with everything in it

demo: $(READY) ## the story of a user, a courier and an attacker, on the real thing
	@.venv/bin/thymus demo

check: $(READY) ## style, layers and types
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/lint-imports
	@.venv/bin/mypy

test: check ## everything that must pass: style, layers, types, tests
	@.venv/bin/pytest -n 2 --dist loadgroup

# The frameworks do not all go into one environment: what they pin differs. One environment a lock file.
ENVIRONMENTS := frameworks autogen crewai
.cache/envs/%/.ready: tests/integrations/%.lock pyproject.toml | $(READY)
	@echo "Setting up .cache/envs/$* (once; about a minute) ..."
	@$(PYTHON) -m venv .cache/envs/$*
	@.venv/bin/uv pip install --quiet --python .cache/envs/$*/bin/python -r $<
	@.venv/bin/uv pip install --quiet --python .cache/envs/$*/bin/python --no-deps -e .
	@touch $@

environments: $(ENVIRONMENTS:%=.cache/envs/%/.ready) ## install the agent frameworks, in three environments (1.8 GB)

test-integrations: environments ## the tests against the real LangChain, LangGraph, Mem0, ... (after `make environments`)
	@for one in $(ENVIRONMENTS); do \
		echo "== $$one"; THYMUS_ENVIRONMENT=$$one .cache/envs/$$one/bin/python -m pytest -n 2 tests/integrations || exit 1; \
	done

thorough: $(READY) ## the guarantees with 1,000 examples each, 200 kills of a writer, faults of a database, a browser
	@THYMUS_THOROUGH=1 .venv/bin/pytest tests/web/test_web_browser.py tests/web/test_web_faults.py tests/web/test_web_schemathesis.py tests/stores/test_postgres_faults.py
	@HYPOTHESIS_PROFILE=thorough THYMUS_KILLS=200 .venv/bin/pytest -n 2 --dist loadgroup tests/guarantees tests/conformance

bench: $(READY) ## the benchmark: nine gates, 205 scenarios, the reader that believes everything (ARGS="--suite all")
	@.venv/bin/thymus-eval $(ARGS)

report: $(READY) ## tables, pictures and a page of the newest run (ARGS="--html page.html")
	@.venv/bin/thymus-report $(ARGS)

compare: $(READY) ## beside other packages, each in an environment of its own (downloads them)
	@$(PY) -m thymus_bench.compare $(ARGS)

dev-eval: $(READY) ## the figures of pairs, claims, families and recall on ../shared/data/dev
	@$(PY) -m dev_eval $(ARGS)

perf: $(READY) ## speed and size beside a named baseline, as a table and as JSON in perf/results
	@$(PY) -m perf

perf-tools: environments ## what Thymus adds to a tool call of each agent framework, as a ratio
	@for one in $(ENVIRONMENTS); do .cache/envs/$$one/bin/python -m perf.tool_calls $(ARGS) || exit 1; done

load: $(READY) ## a million memories in PostgreSQL behind `thymus serve`, under load (ARGS="--users 4 --memories 500")
	@$(PY) -m perf.service_load $(ARGS)

clean: ## remove what these targets made
	@rm -rf .venv .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache perf/results dist build
