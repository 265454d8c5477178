#!/usr/bin/env bash
# scripts/demo.sh BUILD JOBS [CMAKE OPTION...]: builds what the demo needs, and runs it on real files. Where BUILD is a build
# already, it is that one's demo; else BUILD/demo has the six folders of operators that are used, for the GPU that is here
# or, without one, for the CPU alone.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 jobs=$2
shift 2
options=("$@")

gpu() { nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d . || true; }

if [[ ! -f $build/CMakeCache.txt ]]; then
  build+=/demo
  options+=("-DRIDGE_OPERATORS=histogram;softmax;reduce;elementwise;nms;pool" -DRIDGE_TESTS=OFF)
  cc=$(gpu)
  if [[ " ${options[*]} " == *" -DRIDGE_CUDA=AUTO "* ]]; then
    [[ -n $cc ]] || options+=(-DRIDGE_CUDA=OFF)
    [[ -z $cc || " ${options[*]} " == *CMAKE_CUDA_ARCHITECTURES* ]] ||
      options+=("-DCMAKE_CUDA_ARCHITECTURES=${cc/#90/90a}-real")
  fi
  [[ -f $build/CMakeCache.txt ]] ||
    echo "The demo builds six of Ridge's families${cc:+, for compute capability $cc}: some minutes on 2 cores, one on 16."
fi
scripts/configure.sh "$build" "${options[@]}"
MAKEFLAGS='' cmake --build "$build" --parallel "$jobs" --target ridge_demo ridge_cli ridge_picture
# shellcheck disable=SC2086  # words
"$build/bin/ridge_demo" ${DEMO_ARGS:-}
if [[ -x $build/bin/ridge_picture ]]; then
  echo
  "$build/bin/ridge_picture" examples/picture/coins.png "$build/picture.png"
fi
