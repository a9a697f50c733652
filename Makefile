# Everything a person runs. `make` alone lists it.
SHELL := /bin/sh
PYTHON_BIN := .venv/bin/python
PYTEST_WORKERS ?= 2
.DEFAULT_GOAL := help
.PHONY: help up down clean environment environment-dev check test frontend frontend-test bench-stream bench-router chaos lock

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' Makefile

up: environment ## start everything on this machine; Ctrl-C stops it
	@exec $(PYTHON_BIN) -I config/embedded/leash.py --parent $$PPID -- $(PYTHON_BIN) -m config.embedded.up

down: ## stop what `make up` started, from another terminal or after a kill
	@if [ -x $(PYTHON_BIN) ]; then $(PYTHON_BIN) -m config.embedded.down; else echo "Parley is not running."; fi

clean: down ## stop, then remove .data, .venv, node_modules and what was built (all conversations too)
	@rm -rf .data .venv .cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache frontend/dist frontend/node_modules
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

environment:
	@sh config/embedded/environment.sh

environment-dev:
	@sh config/embedded/environment.sh dev

check: environment-dev ## format, lint, types, borders between apps, migrations, the fast tests
	@$(PYTHON_BIN) -m ruff format --check --quiet .
	@$(PYTHON_BIN) -m ruff check --quiet .
	@$(PYTHON_BIN) -m mypy
	@$(PYTHON_BIN) -c 'from importlinter.cli import lint_imports_command as check; check()'
	@$(PYTHON_BIN) -m pytest -q --durations=0 --durations-min=1 tests/pure tests/architecture tests/platform/test_migrations.py

test: environment-dev frontend-test frontend ## every test: Python, web UI, browser
	@$(PYTHON_BIN) -m config.embedded.frontend build
	@$(PYTHON_BIN) -m pytest -q -rs -n $(PYTEST_WORKERS) --dist loadfile $(ARGUMENTS)

frontend: environment ## build the web UI if its sources changed
	@$(PYTHON_BIN) -m config.embedded.frontend build

frontend-test: environment-dev ## type-check and test the web UI
	@$(PYTHON_BIN) -m config.embedded.frontend test

bench-stream: environment-dev ## streaming's cost beside a direct client; STREAMS=1,16,64 SECONDS=20 ASGI_SERVER=daphne
	@$(PYTHON_BIN) -m benchmarks.stream

bench-router: environment-dev ## how the router keeps conversations at their caches; CONVERSATIONS=1000 SEED=1
	@$(PYTHON_BIN) -m benchmarks.router

chaos: environment-dev ## kill, pause and cut while readers check each character; RUNS=40 SEED=1 MODE=single|double
	@$(PYTHON_BIN) -m tests.chaos

lock: environment-dev ## pin again what the requirements*.in ask for
	@sh config/embedded/lock.sh
