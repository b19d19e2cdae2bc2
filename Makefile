# Needs make, git and a Python >= 3.11 with pip and venv; uses uv where it is installed.
# `make PYTHON=python3.13` chooses the interpreter, `make VENV=dir` the environment.

VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$candidate -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& echo $$candidate && break; done)

.PHONY: help venv demo test coverage check conformance format bench docs clean

help:
	@echo "make demo    a plain call against the booster, on the simulated model"
	@echo "make test    all tests that need no network"
	@echo "make coverage  the same with branch coverage, which takes half as long again"
	@echo "make check   format, lint, types, import contracts"
	@echo "make conformance  the MCP conformance suite and the Inspector, in both eras; needs npm and the network"
	@echo "make bench   measurements, side by side with the bare model"
	@echo "make format  format and mend what can be mended"
	@echo "make docs    print docs/settings.md from the models"

venv: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "no Python >= 3.11 with venv and pip found; try make PYTHON=/path/to/python" >&2; exit 1; }
	@if command -v uv >/dev/null 2>&1; then \
		{ test -x $(BIN)/python || uv venv --quiet --python "$(PYTHON)" $(VENV); } && \
		uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[test]'; \
	else \
		{ test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV); } && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'; \
	fi
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	@if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[bench]'; \
	else \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'; \
	fi
	@touch $@

demo: venv
	@$(BIN)/booster-demo

# Most tests wait for processes, disks and clocks: more of them than there are cores run side by side, a file in one place.
test: venv
	@$(BIN)/python -m pytest -n 4 --dist loadfile

coverage: venv
	@$(BIN)/python -m pytest -n 4 --dist loadfile --cov --cov-report=term

check: venv
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

conformance: venv
	@PYTHON="$(abspath $(BIN))/python" CONFORMANCE_DIR="$(abspath $(VENV))/conformance" tests/conformance/run

format: venv
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.installed-bench
	@$(BIN)/booster-bench

docs: venv
	@$(BIN)/python -m booster.config > docs/settings.md

clean:
	rm -rf $(VENV) build dist .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
