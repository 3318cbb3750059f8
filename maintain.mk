# Targets for maintainers, which `make help` lists, too.

, := ,
MODELS = runtime/infoatlas_rt/models
PROGRAM = cmake -S tests/native -B build/native/$(1) -DCMAKE_BUILD_TYPE=$(2) $(3) && cmake --build build/native/$(1) --parallel 2

dist: .venv-dist/ready ## sdist and wheels of x86-64 and aarch64 in dist/, tested like a user (docs/releases.md)
	$(DIST)/python tests/release

# Sums in another order differ by rounding, and the tests have to allow it. NumPy names instructions
# X86_V4 from 2.4 on, and AVX512F before. MKL multiplies the matrices of torch. ONNX Runtime has no
# such setting.
INSTRUCTIONS = avx2
WIDE = X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_KNL AVX512_KNM AVX512_SKX AVX512_CLX AVX512_CNL
LIMIT_avx2 = ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_CBWR=AVX2 OPENBLAS_CORETYPE=Haswell \
	NPY_DISABLE_CPU_FEATURES="$(WIDE)"
LIMIT_baseline = ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 MKL_CBWR=COMPATIBLE OPENBLAS_CORETYPE=Nehalem \
	NPY_DISABLE_CPU_FEATURES="$(WIDE) X86_V3 AVX2 FMA3 F16C AVX"
test-avx2: ## all tests as on a processor without AVX-512, for each release (INSTRUCTIONS=baseline: without AVX2)
	INFOATLAS_INSTRUCTIONS=$(INSTRUCTIONS) $(LIMIT_$(INSTRUCTIONS)) $(MAKE) test

test-lerobot: .venv-lerobot/ready ## LeRobot's own classes read what annotate writes (Python 3.12)
	$(LERO)/python -m pytest tests/lerobot

# On a Jetson, with the environment of docs/jetson.md and pytest in it: make gpu GPU=~/infoatlas/bin
gpu: $(if $(filter .venv-gpu/bin,$(GPU)),.venv-gpu/ready) ## tests on a GPU: engines, CUDA graphs, GPU arrays (docs/tensorrt.md)
	$(GPU)/python -m pytest -m gpu -rs tests/runtime tests/tools/analysis/test_independence.py

# With debug information, for stack traces. The sanitizer of threads excludes the other two.
native-sanitize: .venv/ready ## test programs of the engine and of libinfoatlas with sanitizers of addresses, undefined behaviour, threads
	$(call PROGRAM,sanitize,RelWithDebInfo,-DSANITIZE=address$(,)undefined)
	$(foreach model,edge base wide,build/native/sanitize/program fuzz $(MODELS)/$(model).onnx &&) true
	$(foreach model,edge wide,build/native/sanitize/library_program $(MODELS)/$(model).onnx 60 &&) true
	$(RUN)/python tests/native/random_tasks.py build/native/tasks
	build/native/sanitize/fuzz_task 60 1 build/native/tasks/*.json
	$(call PROGRAM,threads,RelWithDebInfo,-DSANITIZE=thread)
	$(foreach model,edge base wide,build/native/threads/program fuzz $(MODELS)/$(model).onnx &&) true
	build/native/threads/library_program $(MODELS)/edge.onnx 5

# Results on aarch64 have to equal those of this machine, which are compared with ONNX Runtime.
native-aarch64: .venv/tests .venv-dist/ready build/native/ready ## test program for aarch64, as in wheels, emulated (Debian: qemu-user libc6-arm64-cross)
	ZIG=$$($(DIST)/python -c "import ziglang; print(ziglang.__path__[0])")/zig ZIG_TARGET=aarch64-linux-gnu.2.17; export ZIG ZIG_TARGET; \
	$(call PROGRAM,aarch64,Release,--toolchain $(CURDIR)/packaging/zig.cmake)
	$(foreach model,edge base wide,PYTHONPATH=$(CURDIR)/build/native/package $(RUN)/python tests/native/record.py $(model) build/native/$(model).bin && \
	qemu-aarch64 -L /usr/aarch64-linux-gnu build/native/aarch64/program compare $(MODELS)/$(model).onnx build/native/$(model).bin &&) true

keystates-data: .venv-maniskill/ready .venv-metaworld/ready ## collect the demonstrations of the key-state benchmark again
	$(SIM)/python -m benchmarks.tasks.collect_planned
	$(foreach version,0.3.0 1.0.1 1.4.1,$(PIP) .venv-maniskill download --quiet --no-deps --dest build/robosuite robosuite==$(version) &&) true
	$(SIM)/python -m benchmarks.tasks.collect_people build/robosuite
	$(META)/python -m benchmarks.tasks.collect_scripted

cameras-data: .venv-dev/ready .venv-metaworld/ready ## render demonstrations with two cameras into build/cameras (Debian: libosmesa6)
	$(DEV)/python -m benchmarks.cameras.stacks
	$(META)/python -m benchmarks.cameras.scripted

engines: .venv-dev/ready ## build engines of all models with TensorRT-RTX, without a GPU: sizes, times, refusals (an hour)
	$(DEV)/python -m benchmarks.engines $(if $(QUICK),--quick --out build/results)

fuzz: .venv-dev/ready build/native/ready ## many random calls, pushes, files and commands, limits of threads and memory
	$(ENGINE) $(call PYTEST,$(DEV)) tests/fuzz --hypothesis-profile=long

MODEL ?= tiny
remake: .venv-dev/ready build/native/ready ## MODEL=edge: build a model from its recipe (recipes/), resumable
	$(KEPT) $(ENGINE) $(DEV)/python -m infoatlas_train.build recipes/$(MODEL).toml --out runs/$(MODEL)

# Afterwards renew the pages on accuracy (make accuracy).
SHIPPED = train/checkpoints/$(MODEL)
ship: .venv-dev/ready ## MODEL=edge: replace the shipped model by that of `make remake`
	test -e $(SHIPPED).pt # the model is a shipped one
	test -e runs/$(MODEL)/evaluation.json # the build is complete
	cp runs/$(MODEL)/model.onnx $(MODELS)/$(MODEL).onnx
	cp runs/$(MODEL)/corrected.pt $(SHIPPED).pt
	cp runs/$(MODEL)/calibration.json $(SHIPPED).calibration.json
	cp runs/$(MODEL)/manifest.json $(SHIPPED).manifest.json
	cd $(MODELS) && sha256sum *.onnx > SHA256SUMS
	env -u PYTHONPATH $(DEV)/python tests/golden/make.py $(MODEL)

pretrain: .venv-dev/ready ## three minutes of pretraining on two cores (preset tiny)
	$(DEV)/python -m infoatlas_train.pretrain --preset tiny --out runs/tiny
