#!/usr/bin/env bash
# scripts/aarch64.sh BUILD [OPERATOR...]: cross-builds the CPU runtime's tests and those of some operators (elementwise)
# for aarch64 Linux in BUILD, and runs them under qemu-user. On Debian, after `scripts/setup.sh aarch64`.
#
# Left out, for what qemu-user 7.2 is and not for what it runs: it ends when a process with threads forks or when a
# handler of SIGSEGV is chained in a forked child, keeps no limits of memory, and is too slow for tests of time.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$1
shift
operators=("${@:-elementwise}")
jobs=${JOBS:-$(nproc)}
not_by_qemu='AForkDuringAnotherThreadsLaunch|AForkWhileWorkersStart|HandlersThatChain|AHandlerThatIsInstalledAgain|WorksInAForkedChild'
mkdir -p "$build"
build=$(cd "$build" && pwd)
toolchain=$source/cmake/toolchains/aarch64.cmake

# Debian has GoogleTest's library for the machine itself alone, and its source for others.
if [[ ! -e $build/googletest/lib/libgtest.a ]]; then
  cmake -S /usr/src/googletest -B "$build/googletest-build" -DCMAKE_TOOLCHAIN_FILE="$toolchain" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$build/googletest" -DBUILD_GMOCK=OFF >"$build/googletest.log"
  cmake --build "$build/googletest-build" --parallel "$jobs" --target install >>"$build/googletest.log"
fi
list=$(printf '%s;' "${operators[@]}")
"$source/scripts/configure.sh" "$build/ridge" -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DCMAKE_BUILD_TYPE=Release \
  -DRIDGE_CUDA=OFF -DRIDGE_APPS=OFF -DRIDGE_PYTHON=OFF -DRIDGE_OPERATORS="${list%;}" -DRIDGE_WERROR=ON \
  -DGTest_ROOT="$build/googletest"
cmake --build "$build/ridge" --parallel "$jobs" --target ridge simt_test simt_misuse "${operators[@]/%/_test}"
names=$(printf '|%s' "${operators[@]}")
ctest --test-dir "$build/ridge" --output-on-failure --no-tests=error --timeout 600 --parallel "$jobs" \
  --tests-regex "^(Simt.*|simt[.]misuse[.].*${names})\$" --exclude-regex "$not_by_qemu"
