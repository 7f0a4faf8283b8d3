# Each command sets up what it needs in .venv first; a second call sets up nothing again.
PYTHON ?= python3
BIN := .venv/bin
NOTEBOOKS ?=
FOLDER ?= $(if $(filter slides,$(MAKECMDGOALS)),slides,site)
MINUTES ?= 10
INPUTS ?= 1000000
DIRECTORIES ?= 5000
MUTANTS ?= 20
SEED ?= 1
LESSONS ?=
# Where there is no Node.js, which brings Pyodide to the site, it comes as a package.
NODE := $(if $(shell command -v npm),,node)
PART ?= $(shell $(BIN)/python -m tests.parts)
# Tests start hundreds of processes: modules stay compiled, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE
# Tests run in two processes; a file's tests stay together. The files that take longest come first (tests/file_seconds.py),
# not those with the most tests: else one process would be idle at the end.
PYTEST := $(BIN)/python -m pytest
# A plugin that only `make nbval` needs, and that takes a second to import.
WITHOUT_NBVAL := -p no:nbval
# Where one of them dies (a test that stands still ends its process), the run fails at once. With another process in
# its place pytest-xdist repeats the deadly test, or fails of a KeyError, or waits for ever.
WORKERS := -n 2 --max-worker-restart=0
# Without Kafka's jars lessons have two witnesses, and tests say what is missing.
FETCH := $(BIN)/minikafka fetch || true

help:
	@echo "make lab        open the lessons in JupyterLab, on a working copy in my-lessons/"
	@echo "make fresh NOTEBOOK=name   lay that lesson anew; the edited one is kept beside it"
	@echo "make test       every test"
	@echo "make quick      what one runs after each edit: style and the tests without a JVM, in about a minute"
	@echo "make times      measure how long each file of tests takes: both processes of the tests are kept busy by that"
	@echo "make lessons    run every lesson without a browser, one line each"
	@echo "make nbval      compare what every cell of the lessons shows with what is stored, without a browser"
	@echo "make notebooks  build the notebooks from their texts in minikafka/lessons/"
	@echo "make site       the lessons as pages without a kernel, in FOLDER=site, and as notebooks that run in the browser"
	@echo "make site-live  the notebooks alone that run in the browser, in FOLDER=site/live"
	@echo "make site-test  run lessons in a browser without any server behind it; NOTEBOOKS=03 for some"
	@echo "make teaching   the pages for teachers: answers, quiz, invariants; NOTEBOOKS=03 runs that lesson for its answers"
	@echo "make slides     ten slides a lesson, in FOLDER=slides; NOTEBOOKS=03 for some lessons"
	@echo "make diagrams   draw the diagrams from their sources"
	@echo "make bench      measure against the JVM and other clients, side by side"
	@echo "make fuzz       draw workloads for MINUTES=10 and compare with real Kafka"
	@echo "make fuzz-replicas  the same with whole brokers that replicate, and Kafka's own"
	@echo "make fuzz-requests  drawn requests of all APIs for MINUTES=10: does Kafka answer each of them in the same way?"
	@echo "make fuzz-promises  drawn examples of three replicas for MINUTES=10: is what was acknowledged kept?"
	@echo "make fuzz-bytes damaged bytes into every reader, INPUTS=1000000"
	@echo "make fuzz-tools damaged directories through verify, dump-log and recover, DIRECTORIES=5000 from SEED=1 on"
	@echo "make mutants    change the code in small ways and see whether quick tests notice, MUTANTS=20 a room, SEED=1"
	@echo "make wrong-solutions  change the solutions of exercises and rungs: does each judge notice? LESSONS=02 for some"
	@echo "make scripts    ask Kafka again what tests/scripts and tests/kafka_said hold of its answers"
	@echo "make kafka VERSION=4.3.1   follow another version of Kafka: makes anew what is made from Kafka, and tells what differs"
	@echo "make lock       renew the locked dependencies"

lab: ready-lab
	@$(FETCH)
	@$(BIN)/python -m minikafka.lab.course.working_copy open

fresh: ready-lab
	@$(BIN)/python -m minikafka.lab.course.working_copy fresh "$(NOTEBOOK)"

test: ready-dev
	@sh requirements/system_packages.sh
	@$(FETCH)
	@$(BIN)/minikafka doctor || true
	@echo "Part $(PART) of the parts 0 to 19: of tests whose cases are many of one kind it runs from a half to a twentieth; PART=all runs all"
	$(PYTEST) -q $(WITHOUT_NBVAL) $(WORKERS) --dist loadfile --no-loadscope-reorder --ask-kafka --part $(PART) tests
	@$(BIN)/python -m tests.parts --passed $(PART)

quick: ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tests.two_halves -q $(WITHOUT_NBVAL) --quick

times: ready-dev
	@$(FETCH)
	$(PYTEST) -q $(WITHOUT_NBVAL) --quick --write-seconds tests
	$(PYTEST) -q $(WITHOUT_NBVAL) --ask-kafka --part $(PART) --write-seconds tests

lessons: ready-lab
	@$(FETCH)
	@$(BIN)/python -m minikafka.lab.course.run_lessons $(NOTEBOOKS)

# In `make test` a quarter of the lessons is compared too, another one in each run, and a twentieth of them also in a browser.
nbval: ready-dev
	@$(FETCH)
	$(PYTEST) -q $(WORKERS) --dist loadfile --nbval --nbval-cell-timeout 240 --nbval-sanitize-with tests/nbval.cfg notebooks

notebooks: ready-lab
	@$(FETCH)
	@$(BIN)/python -m minikafka.lab.course.build_lessons $(NOTEBOOKS)

site: ready-site
	@$(FETCH)
	@$(BIN)/python -m minikafka.lab.site.build --live "$(FOLDER)" $(NOTEBOOKS)

site-live: ready-site
	@$(BIN)/python -m minikafka.lab.site.live_site "$(FOLDER)"

site-test: ready-dev
	$(PYTEST) -q tests/slow/browser/test_live_site.py --live-lessons "$(or $(NOTEBOOKS),all)"

teaching: ready-lab
	@$(BIN)/python -m minikafka.lab.teaching.build $(NOTEBOOKS)

slides: ready-lab
	@$(BIN)/python -m minikafka.lab.teaching.slides.build "$(FOLDER)" $(NOTEBOOKS)

diagrams: ready-lab
	@$(BIN)/python -m minikafka.lab.course.diagrams

bench: ready-dev
	@for bench in benchmarks/*_bench.py; do echo "== $$bench"; $(BIN)/python "$$bench" || exit 1; done

fuzz: ready-dev
	@$(BIN)/python -m minikafka.witness.log.differ --minutes $(MINUTES)

fuzz-replicas: ready-dev
	@$(BIN)/python -m minikafka.witness.replicas.differ --minutes $(MINUTES)

fuzz-requests: ready-dev
	@$(FETCH)
	@$(BIN)/python -m tests.slow.fuzz.fuzz_requests --minutes $(MINUTES)

fuzz-promises: ready-dev
	@$(BIN)/python -m tests.slow.fuzz.fuzz_promises --minutes $(MINUTES)

fuzz-bytes: ready-fuzz
	@mkdir -p test-results
	@$(BIN)/python tests/slow/fuzz/fuzz_readers.py -runs=$(INPUTS) -artifact_prefix=test-results/

fuzz-tools: ready-dev
	@$(FETCH)
	@$(BIN)/python -m tests.slow.fuzz.fuzz_tools --directories $(DIRECTORIES) --seed $(SEED)

mutants: ready-dev
	@$(FETCH)
	@$(BIN)/python -m tests.slow.mutants.try_mutants --count $(MUTANTS) --seed $(SEED)

wrong-solutions: ready-dev
	@$(BIN)/python -m tests.slow.mutants.try_solutions $(LESSONS)

scripts: ready-dev
	@$(BIN)/minikafka fetch
	@$(BIN)/python -m tests.scripts.effects
	$(PYTEST) -q $(WITHOUT_NBVAL) --write-answers tests

kafka: ready-dev
	@$(BIN)/minikafka fetch
	@$(BIN)/python -m tests.tools.move_to_kafka "$(VERSION)"

LOCK := $(BIN)/pip-compile -q --generate-hashes --no-emit-index-url --no-emit-find-links --strip-extras --allow-unsafe \
	--no-header --no-annotate
lock: ready-dev
	$(LOCK) --upgrade --build-deps-for editable --extra lab --extra dev --extra site -o requirements/dev.txt pyproject.toml
	$(LOCK) --build-deps-for editable --extra lab -c requirements/dev.txt -o requirements/lab.txt pyproject.toml
	$(LOCK) --extra site -c requirements/dev.txt -o requirements/site.txt pyproject.toml
	$(LOCK) --extra fuzz -c requirements/dev.txt -o requirements/fuzz.txt pyproject.toml
	$(LOCK) --extra node -c requirements/dev.txt -o requirements/node.txt pyproject.toml
	$(LOCK) -c requirements/dev.txt -o requirements/core.txt pyproject.toml

ready-lab:
	@$(PYTHON) requirements/install.py lab

ready-dev:
	@$(PYTHON) requirements/install.py dev $(NODE)

ready-site:
	@$(PYTHON) requirements/install.py lab site $(NODE)

ready-fuzz:
	@$(PYTHON) requirements/install.py dev fuzz

.PHONY: help lab fresh test quick times lessons nbval notebooks site site-live site-test teaching slides diagrams bench fuzz fuzz-replicas fuzz-requests fuzz-promises fuzz-bytes fuzz-tools mutants wrong-solutions scripts kafka lock ready-lab ready-dev ready-site ready-fuzz
