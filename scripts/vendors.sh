#!/usr/bin/env bash
# scripts/vendors.sh places|compile: holds what docs/porting.md says of GPU vendors.
#
#   places   the files that know a vendor are those that the page lists
#   compile  the vocabulary and a few operators' kernels, for each vendor whose compiler is not here, by nvcc and with a
#            stand-in for the vendor's headers (ridge/core/vendor/test/names); nothing is linked, nothing runs
set -euo pipefail
cd "$(dirname "$0")/.."

words='RIDGE_(HAS|SIMT_ON|VENDOR_IS)_(CUDA|HIP|MUSA|MACA|ILUVATAR|NVIDIA)|RIDGE_(CUDA_ARCH|GPU_COMPILER|HIP_WARP)'
words+='|RIDGE_VENDOR_SHUFFLES_BY_MASK|vendor::|simt::(Cuda|Hip|Musa|Maca|Iluvatar)|__(CUDACC|HIPCC|HIP_DEVICE_COMPILE|CUDA_ARCH)__'
words+='|\b(cuda|hip|musa|mc)[A-Z][A-Za-z]+\('

# Not asked: users' CUDA files and what emulates CUDA for them, the vocabulary itself, kernels for NVIDIA's instructions
# and other people's kernels, whose names say so, tests and comments.
places() {
  local known listed
  known=$(git grep -lE "^([^/]|/[^/])*($words)" -- '*.hpp' '*.cuh' '*.cu' '*.cpp' '*.cmake' '*CMakeLists.txt' '*.in' |
    grep -vE '^(docs|learn|ridge/lab|apps/ridge/lab)/|/vendor/|/test/|(^|/)sm[0-9]+(/|_)|/peers\.cu$|_?test\.(cu|cpp)$' | sort)
  listed=$(sed -n '/^## Every place/,/^## /p' docs/porting.md | grep -oE '^\| `[^`]+`' | tr -d '|` ' | sort || true)
  if ! diff --old-line-format='docs/porting.md does not list %L' --new-line-format='docs/porting.md lists, and it knows no vendor: %L' \
    --unchanged-line-format='' <(echo "$known") <(echo "$listed"); then
    return 1
  fi
  echo "$(wc -l <<<"$known") files know a vendor, beside ridge/core/vendor; docs/porting.md lists them"
}

compile() {
  local nvcc vendor file object
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  if [[ ! -x $nvcc ]]; then
    echo "skipped: no nvcc, whose headers the stand-ins map to"
    return
  fi
  object=$(mktemp --suffix=.o)
  for vendor in musa maca iluvatar; do
    for file in ridge/simt/compile_check.cu "$@"; do
      ${CMAKE_CUDA_COMPILER_LAUNCHER:-} "$nvcc" -std=c++20 -arch=sm_80 --expt-relaxed-constexpr -O1 \
        "-DRIDGE_HAS_${vendor^^}=1" -I. -Iridge/core/vendor/test/names -c "$file" -o "$object"
      echo "$vendor: $file"
    done
  done
  rm -f "$object"
}

case ${1:-} in
  places) places ;;
  compile) compile "${@:2}" ;;
  *) echo "scripts/vendors.sh places|compile [FILE.cu...]" >&2; exit 2 ;;
esac
