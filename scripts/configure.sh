#!/usr/bin/env bash
# scripts/configure.sh DIR [CMAKE OPTION...]: configures a build of this checkout in DIR, unless DIR is configured so
# already. Objects that the options leave untouched are kept.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$1
shift

# What the configuration depends on and CMake does not watch: the options, the compilers found on the PATH.
wanted=$(printf '%s\n' "$source" "$@" "nvcc=$(command -v nvcc || true)" \
  "python=$(python3-config --includes 2>/dev/null || true)" "CXX=${CXX:-}" "CXXFLAGS=${CXXFLAGS:-}" \
  "CUDACXX=${CUDACXX:-}" "CUDAARCHS=${CUDAARCHS:-}")
stamp=$build/configured-with
[[ -f $stamp && -f $build/CMakeCache.txt && $(<"$stamp") == "$wanted" ]] && exit 0

generator=()
if [[ -f $build/CMakeCache.txt ]]; then
  generator=(-G "$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")")
  rm -f "$build/CMakeCache.txt" "$stamp"  # an option given before and not now must go
elif command -v ninja >/dev/null; then
  generator=(-G Ninja)
fi
echo "Configuring $build"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake -S "$source" -B "$build" "${generator[@]}" "$@" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
sed -n -e '/Ridge/p' -e '/CMake Warning/,/^$/p' "$log"
printf '%s\n' "$wanted" >"$stamp"
