# `make help` lists the targets. environments.mk makes their environments; maintain.mk has targets
# for maintainers.

# Packages are installed without bytecode, and the first import writes it. Without this line, that
# could be disabled, and each process of the tests would compile torch again.
export PYTHONDONTWRITEBYTECODE =
# Environments have the sources without the C++ engine, which is compiled once, into
# build/native/package.
export INFOATLAS_ENGINE = 0

PYTHON ?= python3
RUN  = .venv/bin
DEV  = .venv-dev/bin
DOCS = .venv-docs/bin
SIM  = .venv-maniskill/bin
ROS  = .venv-ros/bin
BMI  = .venv-bmi/bin
META = .venv-metaworld/bin
DIST = .venv-dist/bin
LERO = .venv-lerobot/bin
GPU ?= .venv-gpu/bin
INSTALL = install --quiet --disable-pip-version-check --no-compile
# ManiSkill's planner needs NumPy 1, which does not support Python 3.13 and later.
SIMULATED := $(shell $(PYTHON) -c 'import sys; print(int(sys.version_info < (3, 13)))')

.DEFAULT_GOAL := help
.PHONY: accuracy applications bench cameras-data clean demo dist docs engines environments fuzz generation gpu help keystates keystates-data lint native-aarch64 native-sanitize policies pretrain remake ros-demo ship summary test test-avx2 test-benchmarks test-core test-fast test-lerobot test-maniskill test-native test-rest test-ros2 test-runtime test-tools test-train
help: ## this list
	@sed -nE 's/^([a-z][a-z0-9 -]*):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | awk -F '\t' '{printf "%-22s %s\n", $$1, $$2}'

# In the active environment if it is that of the README.
ACTIVE := $(shell $(PYTHON) -c 'from importlib.util import find_spec as f; print(int(all(map(f, ("infoatlas_tools", "matplotlib", "pyarrow", "av")))))')
demo: DEMO = $(if $(filter 1,$(ACTIVE)),$(PYTHON),$(RUN)/python)
demo: $(if $(filter 1,$(ACTIVE)),,.venv/ready) ## key states of three data sets, with pictures: a camera's objects, true events (no torch, no compiler)
	$(DEMO) -m infoatlas_rt annotate examples/data/stack --camera front \
		--object-name 1=green --object-name 2=red --plot subtasks.png
	$(DEMO) -m infoatlas_rt keystates examples/data/pickcube.npz --rate 20 --plot keystates.png
	$(DEMO) -m infoatlas_rt keystates benchmarks/tasks/data/sawyer_place.npz --rate 20 --plot keystates_people.png
	$(DEMO) -m benchmarks.keystates.flags examples/data/pickcube.npz \
		benchmarks/tasks/data/sawyer_place.npz --rate 20

ros-demo: build/ros2/ready ## the ROS 2 node, live: it reports when the robot grasps the cube
	. build/ros2/install/local_setup.sh && $(ROS)/python ros2_node/demo.py

bench: .venv/ready build/native/ready ## latency of one update on this machine (a C++20 compiler)
	PYTHONPATH=$(CURDIR)/build/native/package $(RUN)/infoatlas-rt bench

test: test-core test-ros2 test-native $(if $(filter 1,$(SIMULATED)),test-maniskill) ## all tests, including ROS 2, the C++ engine and the simulator

test-core: test-train test-fast test-benchmarks test-rest ## all tests except those of ROS 2, of the engine itself and of the simulator

# In processes of one thread. A file stays in one process, because its tests share fixtures.
PROCESSES ?= 2
PYTEST = $(1)/python -m pytest -n $(PROCESSES) --dist loadfile --durations 10 --durations-min 10

# In the environment of the runtime, to show that the core needs no other package. All but the tests
# of the runtime have the C++ engine: its estimates need a quarter of the time of ONNX Runtime.
ENGINE = PYTHONPATH=$(CURDIR)/build/native/package
test-fast: test-runtime test-tools ## tests of the runtime and the tools, in a few minutes (a C++20 compiler; no torch, no simulator)
test-tools: build/native/ready
test-tools: WITH = $(ENGINE)
test-runtime test-tools: .venv/tests
	$(BEFORE)
	$(RUN)/python -c "from importlib.util import find_spec as f; assert not any(map(f, ('torch', 'mujoco', 'infoatlas_native')))"
	$(WITH) $(call PYTEST,$(RUN)) tests/$(@:test-%=%)

# With these settings glibc keeps freed pages. Otherwise new pages for large tensors cost a fifth of
# the time.
KEPT = MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=10000000000
# In one process, because files share a traced model.
test-train: PROCESSES = 0
test-train: .venv-dev/ready ## tests of training and export, with torch
	$(KEPT) $(call PYTEST,$(DEV)) tests/train tests/export

# With the engine that users get. Two writers of annotations need packages that .venv lacks.
REST = tests/test_*.py tests/fuzz tests/tools/annotations/test_foxglove.py tests/tools/annotations/test_rerun.py
test-benchmarks test-rest: .venv-dev/ready build/native/ready
test-benchmarks: ## tests of the benchmarks, in a short form (a C++20 compiler)
	$(ENGINE) $(call PYTEST,$(DEV)) tests/benchmarks
test-rest: ## tests of the documentation, and of random input (a C++20 compiler)
	$(ENGINE) $(call PYTEST,$(DEV)) $(REST)

# DDS orders messages within a topic alone, and guarantees no time of discovery. A failed test is
# therefore run once more, and the summary reports it.
test-ros2: build/ros2/ready build/native/ready ## the node, over DDS (x86-64 Linux, a C++20 compiler)
	. build/ros2/install/local_setup.sh && $(ENGINE):$$PYTHONPATH $(ROS)/python -m pytest --reruns 1 -r R tests/ros2

test-native: .venv/tests build/native/ready ## the wheel and its C++ engine (a C++20 compiler)
	$(ENGINE) $(RUN)/python -m pytest tests/native tests/runtime/models/test_golden.py -k 'not cpu-onnxruntime'

test-maniskill: .venv-maniskill/ready ## the wrapper and the examples against the simulator (Python up to 3.12)
	$(SIM)/python -m pytest tests/maniskill

# Renew all pages of a kind. With QUICK=1 the measurements are shortened, and go to build/results.
QUICKLY = $(if $(QUICK),--quick)
applications: .venv-dev/texts
applications keystates: .venv-dev/ready ## pages of measurements; QUICK=1: shortened, into build/results
accuracy: .venv-dev/ready build/bmi/ready ## pages on accuracy, with other estimators
generation policies: .venv-dev/ready .venv-maniskill/ready ## from ten demonstrations to a policy: hours on two cores
generation: export OMP_NUM_THREADS = 1
accuracy applications keystates generation policies:
	$(DEV)/python -m benchmarks $@ $(QUICKLY)

summary: .venv-dev/ready ## figures of the README, from these pages
	$(DEV)/python -m benchmarks.summary

lint: .venv-dev/ready ## ruff and mypy
	$(DEV)/ruff check . && $(DEV)/ruff format --check . && $(DEV)/mypy

docs: .venv-docs/ready .venv/tests build/native/ready ## the site, in build/docs/site; warnings, dead links and failing notebooks are errors (a C++20 compiler)
	$(DOCS)/python docs/site/stage.py build/docs/source
	$(RUN)/python docs/site/demo.py build/docs/source/label.html
	PYTHONPATH=$(CURDIR)/build/native/package OMP_NUM_THREADS=1 $(RUN)/jupyter nbconvert --log-level ERROR \
		--ExecutePreprocessor.extra_arguments=--log-level=ERROR --execute --to markdown \
		--output-dir build/docs/source/examples examples/*.ipynb
	PYTHONPATH=docs/site NO_MKDOCS_2_WARNING=1 $(DOCS)/mkdocs build --quiet --strict -f docs/site/mkdocs.yml

environments: .venv/tests .venv-dev/ready .venv-docs/ready ## environments of lint, docs and test; -j makes them in parallel
environments: build/native/ready build/ros2/ready $(if $(filter 1,$(SIMULATED)),.venv-maniskill/ready)

clean: ## remove all environments and built files
	rm -rf .venv .venv-* build dist

include environments.mk maintain.mk
