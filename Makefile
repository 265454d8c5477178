# Ridge's front door. The work is CMake's; here are the usual commands, each with its set-up.
#
#   make demo BUILD=build JOBS=8 RIDGE_CUDA=OFF CMAKE_CUDA_ARCHITECTURES='80;90a' CMAKE_ARGS=-DRIDGE_WERROR=ON

BUILD      ?= build
JOBS       ?= $(shell nproc 2>/dev/null || echo 2)
RIDGE_CUDA ?= AUTO
CMAKE_ARGS ?=
ARGS       ?=

options = -DCMAKE_BUILD_TYPE=Release -DRIDGE_CUDA=$(RIDGE_CUDA) \
  $(if $(CMAKE_CUDA_ARCHITECTURES),'-DCMAKE_CUDA_ARCHITECTURES=$(CMAKE_CUDA_ARCHITECTURES)') $(CMAKE_ARGS)
# MAKEFLAGS is ours, not for a generator's make.
compile = MAKEFLAGS= cmake --build $(BUILD) --parallel $(JOBS)

.PHONY: help setup configure build demo test bench wheel python-test registers sanitize format check-format clean
help:
	@echo "make demo          build what it needs, then histogram, softmax and reductions of real files, each checked; and a picture"
	@echo "make test          build, then every test that can run here (those of the GPU where there is one)"
	@echo "make build         build everything"
	@echo "make bench         build, then measure; ARGS='softmax --peers' goes to 'ridge bench'"
	@echo "make wheel         build, then pack the Python package: $(BUILD)/wheel/ridge-*.whl"
	@echo "make python-test   build, then test that wheel in a virtual environment of its own"
	@echo "make sanitize      build, then some tests of the GPU under compute-sanitizer; ARGS='gemm_test' chooses programs"
	@echo "make format        format every C++ and CUDA file; make check-format shows what it would change"
	@echo "make clean         remove $(BUILD)"
	@echo
	@echo "All of them install what is missing (Debian) or say what it is."
	@echo "Overrides: BUILD=$(BUILD) JOBS=$(JOBS) RIDGE_CUDA=$(RIDGE_CUDA) (AUTO: CUDA variants if nvcc is found, ON, OFF)"
	@echo "           CMAKE_CUDA_ARCHITECTURES (default: 80 and 90a; native: the GPU here), CMAKE_ARGS (any -D option)"

setup:
	@scripts/setup.sh build $(group)
	@$(if $(optional),scripts/setup.sh $(optional) || echo "Going on without what is for: $(optional)")

configure: setup
	@scripts/configure.sh $(BUILD) $(options)

build: configure
	@$(compile)

demo: optional = picture
demo: setup
	@DEMO_ARGS='$(ARGS)' scripts/demo.sh $(BUILD) $(JOBS) $(options)

test: build
	@ctest --test-dir $(BUILD) --output-on-failure --no-label-summary --timeout 600 --parallel $(JOBS) $(ARGS)

bench: configure
	@$(compile) --target ridge_cli
	@$(BUILD)/bin/ridge bench $(ARGS)

wheel python-test: group = python
wheel: configure
	@$(compile) --target ridge_python
	@python/build_wheel.py $(BUILD)

python-test: configure
	@$(compile) --target ridge_python
	@python/check.sh $(BUILD) $(ARGS)

registers:
	@scripts/registers.sh $(ARGS)

sanitize: build
	@scripts/sanitize.sh $(BUILD) $(ARGS)

format:
	@scripts/setup.sh format
	@scripts/format.sh

check-format:
	@scripts/setup.sh format
	@scripts/format.sh --check

clean:
	@if [ -f "$(BUILD)/configured-with" ] || [ -f "$(BUILD)/CMakeCache.txt" ]; then rm -rf "$(BUILD)"; fi
