.DEFAULT_GOAL := help
.PHONY: help demo test soak check fix diagrams bench pi conformance sdk-check sdk-bench mutants lock clean
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
CODE := engine adapters tools diagrams tests examples
SEED ?= $(shell date +%s)
N ?= 1000
ARGS ?=
GALLERY := diagrams/gallery
DIALECTS := pi-0.80.2 pi-0.85.1 pi-1.6.0

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## run the agent on a real task: no key, no network
	$(BIN)/turnwheel run --model demo "list docs/, which files are *.toml, search for decides_to_stop in engine, and read \
	engine/turnwheel/__init__.py and README.md and tell me how long they are"

test: $(READY) ## the whole suite, the same every time (ARGS="-k table" narrows it)
	$(BIN)/pytest $(ARGS)

soak: $(READY) ## the property tests with many random examples (SEED=… repeats a run)
	$(BIN)/pytest -m hypothesis --hypothesis-profile=soak --hypothesis-seed=$(SEED) $(ARGS)

check: $(READY) ## format, lint, types, and whether the gallery is fresh; changes nothing
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy --strict $(CODE)
	$(BIN)/python -m turnwheel_diagrams.gallery $(GALLERY) --check

fix: $(READY) ## format, and repair what can be repaired
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

diagrams: $(READY) ## draw anew what is stale in the gallery
	@mkdir -p $(GALLERY)
	@for dialect in $(DIALECTS); do \
	  $(BIN)/python -m tests.conformance.coverage $$dialect > $(GALLERY)/corpus-$$dialect.counts.json || exit 1; done
	@$(BIN)/python -m turnwheel_diagrams.gallery $(GALLERY)

bench: $(READY) ## time the machine
	$(BIN)/python tests/bench.py $(ARGS)

pi: ## install the real Pi that turnwheel is held against, Mermaid and pyright (needs node and npm)
	@if command -v node >/dev/null && command -v npm >/dev/null; then \
	  for pi in tests/conformance/node/pi-*/ tests/diagrams/mermaid/ tests/typing/; do \
	    (cd $$pi && npm install --silent --no-audit --no-fund --ignore-scripts) || exit 1; done; \
	else echo "skipped: make pi needs node and npm"; fi

conformance: $(READY) pi ## compare N random scenarios of each dialect with real Pi (SEED=… repeats a run)
	@$(BIN)/python -m tests.conformance.differential $(N) --seed $(SEED) $(ARGS)

sdk-check: .venv-sdk/.ready ## hold the models against the official SDKs, in an environment of its own
	@.venv-sdk/bin/python -m tests.sdk.check

sdk-bench: .venv-sdk/.ready ## time a delta of openai-chat, beside httpx alone, httpx-sse and the openai SDK
	@.venv-sdk/bin/python -m tests.sdk.bench

mutants: $(READY) ## make the engine wrong in every way, and say who notices (ARGS=--page renews docs/mutants.md)
	$(BIN)/python -m tests.mutants.table $(ARGS)

lock: $(READY) ## renew requirements/dev.txt from pyproject.toml (ARGS=--upgrade: newest versions)
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --no-annotate --custom-compile-command "make lock" --extra test --extra diagrams --group dev \
	  pyproject.toml --output-file requirements/dev.txt $(ARGS)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --no-annotate --custom-compile-command "make lock" --group dev --group sdk \
	  pyproject.toml --output-file requirements/sdk.txt $(ARGS)

clean: ## remove .venv and every cache
	rm -rf .venv .venv-sdk .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# The environments, made anew only when the lock or pyproject.toml changed.
$(READY): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "turnwheel needs Python 3.11 or newer with its venv module, and $(PYTHON) is not that: make PYTHON=… chooses another" >&2; exit 1; }
	@echo "making .venv from requirements/dev.txt"
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.venv-sdk/.ready: requirements/sdk.txt pyproject.toml
	@echo "making .venv-sdk from requirements/sdk.txt"
	@$(PYTHON) -m venv --clear .venv-sdk
	@.venv-sdk/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/sdk.txt
	@.venv-sdk/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
