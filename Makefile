# Everything here sets itself up: a fresh machine needs Python 3.11 or newer, make,
# and nothing else. `make PYTHON=python3.12 test` picks another interpreter.
PYTHON ?= $(shell for name in python3 python3.11 python3.12 python3.13 python3.14; do \
             $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
             && echo $$name && break; done)
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DIR    ?= .hotseat
NODES  ?= 3
GATEWAY ?= 127.0.0.1:8080

.DEFAULT_GOAL := help
.PHONY: help install run test fast check format bench conformance sim clean

help:            ## say what there is
	@grep -hE '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(STAMP) ## make the virtual environment

$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "hotseat needs Python 3.11 or newer, and found none"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

run: $(STAMP)     ## a cluster and a page to play on, until Ctrl-C; GATEWAY=HOST:PORT
	@exec $(BIN)/hotseat up --nodes $(NODES) --dir $(DIR) --gateway $(GATEWAY)

test: $(STAMP)    ## all tests; ARGS=... for some
	PATH="$(abspath $(BIN)):$$PATH" scripts/test $(ARGS)

fast: $(STAMP)    ## the tests without real processes and sockets
	$(BIN)/python -m pytest -m 'not system and not slow' $(ARGS)

check: $(STAMP)   ## ruff, mypy, import-linter and the gates
	PATH="$(abspath $(BIN)):$$PATH" scripts/check

format: $(STAMP)  ## write the code the way ruff wants it
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: $(STAMP)   ## measure; ONLY=name for one part; writes bench/results.json
	$(BIN)/python -m bench $(if $(ONLY),--only $(ONLY))

conformance: $(STAMP) ## the reference implementation's recorded outputs
	$(BIN)/python -m tests.conformance $(sort $(wildcard tests/conformance/vectors/*.json))

sim: $(STAMP)     ## lives of simulated clusters under faults; SEED=first COUNT=how many
	$(BIN)/python -m tests.simulator --seed $(or $(SEED),0) --count $(or $(COUNT),200)

clean:           ## remove what was made
	rm -rf build dist *.egg-info $(VENV) .pytest_cache .mypy_cache .ruff_cache
