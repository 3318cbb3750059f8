# make demo   the main job on 100 real demonstrations: key states and a picture (no torch)
# make test   the whole test suite, with everything that it drives
# make ros-demo   the ROS 2 node, live: it reports when the robot takes the cube; and a picture
# make bench  latency of one update on this machine
# make accuracy   BMI, Gaussians, hand-made families, strong dependence, and the peers beside them
# make applications   independence, embeddings, motion, slices: tables and pictures
# make keystates   key states against true events, and the peers beside them
# make keystates-data   the demonstrations of the key-state benchmark, collected anew
# make fuzz   20,000 random calls and as many pushes, command lines, damaged models
# make pretrain   three minutes of pretraining on two cores (preset tiny)

PYTHON ?= python3
RUN  = .venv/bin
DEV  = .venv-dev/bin
BMI  = .venv-bmi/bin
SIM  = .venv-maniskill/bin
ROS  = .venv-ros/bin

.PHONY: keystates keystates-data demo test test-core test-ros2 ros-demo bench fuzz accuracy applications pretrain lint clean

demo: .venv/ready
	$(RUN)/infoatlas-rt keystates examples/data/pickcube.npz \
		--group tool=tool.x,tool.y,tool.z --group cube=cube.x,cube.y,cube.z --plot keystates.png

test: test-core test-ros2

test-core: .venv-dev/ready
	$(DEV)/python -m pytest

# ROS has an environment without torch; the rest of the tests have one without ROS.
test-ros2: build/ros2/ready
	. build/ros2/install/local_setup.sh && $(ROS)/python -m pytest tests/ros2

ros-demo: build/ros2/ready
	. build/ros2/install/local_setup.sh && $(ROS)/python ros2_node/demo.py

bench: .venv/ready
	$(RUN)/infoatlas-rt bench

accuracy: .venv-dev/ready build/bmi/ready
	$(DEV)/python benchmarks/accuracy/bmi.py build/bmi --model edge base wide --out benchmarks/results
	$(DEV)/python benchmarks/accuracy/gaussian.py --model edge base --out benchmarks/results
	$(DEV)/python benchmarks/accuracy/families.py --model edge base
	$(DEV)/python benchmarks/accuracy/strong.py --model edge base
	$(DEV)/python benchmarks/accuracy/strong.py --model wide --dims 5 10 20 --out benchmarks/results/wide
	$(DEV)/python benchmarks/accuracy/bmi_sliced.py
	$(DEV)/python benchmarks/accuracy/sparse_data.py
	$(DEV)/python benchmarks/accuracy/table1.py
	$(DEV)/python benchmarks/accuracy/calibration.py build/bmi --out benchmarks/results

applications: .venv-dev/ready
	$(DEV)/python benchmarks/applications/independence.py
	$(DEV)/python benchmarks/applications/embeddings.py
	$(DEV)/python benchmarks/applications/motion.py
	$(DEV)/python benchmarks/applications/slicing.py

keystates: .venv-dev/ready
	$(DEV)/python -m benchmarks.keystates.run

keystates-data: .venv-maniskill/ready
	$(SIM)/python benchmarks/keystates/collect.py
	$(SIM)/pip download --quiet --no-deps --dest build/robosuite robosuite==1.4.1
	$(SIM)/python benchmarks/keystates/collect_people.py build/robosuite/*.whl

fuzz: .venv-dev/ready
	$(DEV)/python tests/fuzz/run.py --calls 20000 --processes 2 --out benchmarks/results/fuzz.md

pretrain: .venv-dev/ready
	$(DEV)/python -m infoatlas_train.pretrain --preset tiny --out runs/tiny

lint: .venv-dev/ready
	$(DEV)/ruff check . && $(DEV)/ruff format --check . && $(DEV)/mypy

# Each environment is made again when what it is made from changes.
.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(RUN)/pip install --quiet --disable-pip-version-check -e '.[cpu,cli,plot]'
	touch $@

.venv-dev/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-dev
	$(DEV)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[cli,plot,export,bench,dev]'
	touch $@

.venv-ros/ready: pyproject.toml ros2_node/wheels.py
	$(PYTHON) -m venv .venv-ros
	$(ROS)/pip install --quiet --disable-pip-version-check -e '.[cpu,plot,bags,ros2]'
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
build/bmi/ready: benchmarks/accuracy/bmi_samples.py
	$(PYTHON) -m venv .venv-bmi
	$(BMI)/pip install --quiet --disable-pip-version-check benchmark-mi==0.1.3 'jax<0.4.24' 'jaxlib<0.4.24' 'numpy<2' 'scipy<1.13'
	$(BMI)/python benchmarks/accuracy/bmi_samples.py build/bmi
	touch $@

# ManiSkill's planner crashes with numpy 2, so it lives alone and hands over .npz files.
.venv-maniskill/ready:
	$(PYTHON) -m venv .venv-maniskill
	$(SIM)/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(SIM)/pip install --quiet --disable-pip-version-check mani-skill==3.0.1 torch==2.13.0 'numpy<2' 'mujoco>=3.1,<4'
	touch $@

clean:
	rm -rf .venv .venv-dev .venv-bmi .venv-maniskill .venv-ros build
