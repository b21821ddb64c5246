# make tune   set up and tune the matrix product of examples/ on this machine
# make test   set up and run the tests
# make check  set up and run the linters, the type checker and the layer contract
# make lock   renew the lock files

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: tune test check test-newest lock clean

tune: $(VENV)/.run
	$(BIN)/tunewright tune examples/matmul/matmul.toml --evaluations 60

test: $(VENV)/.dev
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

lock: $(BIN)/python
	$(PIP) uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --no-emit-index-url pyproject.toml -o requirements/run.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --no-emit-index-url --group dev pyproject.toml -o requirements/dev.txt

# The same tests against the newest dependencies that pyproject.toml allows; for a weekly job.
test-newest:
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip --disable-pip-version-check install --quiet --upgrade pip
	.venv-newest/bin/python -m pip --disable-pip-version-check install --quiet --upgrade . --group dev
	.venv-newest/bin/python -m pytest tests

clean:
	rm -rf $(VENV) build dist

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml requirements/run.txt | $(BIN)/python
	$(PIP) --require-hashes -r requirements/run.txt
	$(PIP) --no-deps --editable .
	touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.run
	$(PIP) --require-hashes -r requirements/dev.txt
	touch $@
