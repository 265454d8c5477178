#!/usr/bin/env bash
# packaging/check.sh PART BUILD: uses Ridge as its users would, and fails where they would.
#   installed      BUILD is installed into a temporary folder, which is then moved: headers, find_package(), pkg-config
#   subdirectory   a project that has Ridge's source in a folder of its own
# Programs: packaging/consumers. CTest runs both parts (package.*).
set -euo pipefail
part=$1
build=$(cd "$2" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
consumers=$source/packaging/consumers
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
export CXX CC=${CC:-cc}
unset MAKEFLAGS  # of the `make test` that this runs in
CXX=$(cached CMAKE_CXX_COMPILER)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

run() {  # command...: its output where it fails
  if ! "$@" >"$scratch/log" 2>&1; then
    printf '%s\n' "failed: $*" >&2
    cat "$scratch/log" >&2
    exit 1
  fi
}
fail() { echo "$1" >&2; exit 1; }

configure() {  # consumer, CMake option...
  cmake -S "$consumers/$1" -B "$scratch/$1" -G "$(cached CMAKE_GENERATOR)" "${@:2}"
}
consume() {  # consumer, CMake option...
  run configure "$@"
  run cmake --build "$scratch/$1" --parallel "$(nproc)"
}

# Every header that a program may include compiles on its own, and none asks for one that is not installed. Those of the
# GPUs' runtimes ask for their vendors' headers: core/vendor/compiler.hpp chooses among them, and the test of a build for
# a vendor compiles that one's.
headers_alone() {
  cd "$1"
  local folder name
  find . -name '*.h' -o -name '*.hpp' -o -name '*.cuh' | sed -e 's|^\./||' -e '/\/sm[0-9]/d' -e '/^ridge\/lab\//d' \
    -e '/^ridge\/core\/vendor\//d' >"$scratch/all"
  sed 's/.*/#include <&>/' "$scratch/all" >"$scratch/all.cpp"
  run "$CXX" -std=c++20 -I. -M -MF "$scratch/all.d" "$scratch/all.cpp"

  ls ridge.h ridge/dlpack.h ridge/core/*.hpp ridge/core/vendor/compiler.hpp ridge/simt/*.hpp ridge/tile/*.cuh >"$scratch/public"
  for folder in ridge/*/; do
    name=$(basename "$folder")
    [[ ! -f $folder$name.hpp ]] || echo "$folder$name.hpp"
  done >>"$scratch/public"
  run xargs -a "$scratch/public" -P "$(nproc)" -I{} sh -c \
    'echo "#include <{}>" | "$CXX" -std=c++20 -Wall -Wextra -Werror -Wno-unknown-pragmas -I. -fsyntax-only -x c++ -'
  echo "$(wc -l <"$scratch/public") headers compile alone; all $(wc -l <"$scratch/all") find what they include"
  cd "$source"
}

installed() {
  run cmake --install "$build" --prefix "$scratch/first"
  mv "$scratch/first" "$scratch/moved"
  local prefix=$scratch/moved library package pc
  library=$(find "$prefix" -name libridge.so)
  package=$(find "$prefix" -name ridge-config.cmake)
  pc=$(find "$prefix" -name ridge.pc)
  [[ -n $(find "$prefix" -name NOTICES.md) ]] || fail "the package has no notices of what others wrote"
  if grep -rnE "$build|$scratch|cudart" "$(dirname "$package")" "$pc"; then
    fail "the package names a folder of this machine, or the CUDA runtime, which is inside libridge"
  fi
  headers_alone "$prefix/include"

  # find_package: C++, a kernel of the user's own, C alone; a component that is not there is refused in so many words.
  local components=cpu
  if grep -q 'ridge_HAS_CUDA TRUE' "$package"; then
    components="cpu;cuda"
  elif configure find_package -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENTS=cuda >"$scratch/cuda.log" 2>&1; then
    fail "find_package(ridge COMPONENTS cuda) found a Ridge without CUDA"
  elif ! tr -s ' \n' ' ' <"$scratch/cuda.log" | grep -q "This Ridge was built without CUDA"; then
    cat "$scratch/cuda.log"
    fail "find_package(ridge COMPONENTS cuda) did not say what is missing"
  fi
  consume find_package -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENTS="$components"
  run "$scratch/find_package/typed"
  [[ ! -x $scratch/find_package/own_kernel ]] || run "$scratch/find_package/own_kernel"
  consume c_only -DCMAKE_PREFIX_PATH="$prefix"
  run "$scratch/c_only/by_name"

  # pkg-config, and C99 with all warnings.
  export PKG_CONFIG_PATH
  PKG_CONFIG_PATH=$(dirname "$pc")
  run "$CC" -std=c99 -Wall -Wextra -Wpedantic -Werror "$consumers/programs/by_name.c" \
    $(pkg-config --cflags --libs ridge) -lm -o "$scratch/by_name"
  LD_LIBRARY_PATH=$(dirname "$library") "$scratch/by_name"
  [[ ! -x $prefix/bin/ridge ]] || run "$prefix/bin/ridge" ops
  if [[ -n $(find "$prefix" -name libridge_lab_run.a) ]]; then
    run "$prefix/bin/ridge" lab "$source/apps/ridge/test/lab/saxpy.cu" --run
  fi
}

subdirectory() {
  consume subdirectory
  "$scratch"/subdirectory/typed
  [[ -z $(find "$scratch/subdirectory" -name '*_test') ]] || fail "Ridge's tests are built in another project"
  run cmake --install "$scratch/subdirectory" --prefix "$scratch/prefix"
  [[ ! -e $scratch/prefix/include ]] || fail "another project's installation installs Ridge"
}

case $part in
  installed | subdirectory) "$part" ;;
  *) fail "packaging/check.sh: '$part' is no part; it must be installed or subdirectory" ;;
esac
