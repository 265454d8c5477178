#!/usr/bin/env bash
# The tests of the GPU under compute-sanitizer, tool by tool: a table of what each found in each program, and exit code 1
# where a tool reports or a test fails. Of each program's tests every SHARDS-th is run, as the tools take 10 to 100 times
# as long as the tests alone.
#
#   scripts/sanitize.sh [BUILD] [PROGRAM...]     (build, and every X_test of BUILD/bin that has tests of the GPU)
#
#   TOOLS="memcheck racecheck initcheck synccheck"   SHARDS=40   FILTER='*.cuda*:cuda/*'   SECONDS_EACH=300
set -euo pipefail
build=${1:-build}
shift || true
read -ra tools <<<"${TOOLS:-memcheck racecheck initcheck synccheck}"
shards=${SHARDS:-40} filter=${FILTER:-*.cuda*:cuda/*} limit=${SECONDS_EACH:-300}

die() {
  echo "sanitize.sh: $1" >&2
  exit 2
}
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
[[ -x $sanitizer ]] || die "there is no compute-sanitizer on the PATH; it comes with the CUDA toolkit"
[[ -d $build/bin ]] || die "'$build' is no build: it has no folder bin"
programs=("$@")
if [[ ${#programs[@]} -eq 0 ]]; then
  for program in "$build"/bin/*_test; do
    # A program whose list has no such test is of the CPU alone.
    if "$program" --gtest_list_tests --gtest_filter="$filter" 2>/dev/null | grep -q '^  '; then
      programs+=("$(basename "$program")")
    fi
  done
fi
[[ ${#programs[@]} -gt 0 ]] || die "no program of $build/bin has tests that match '$filter': is it a build with CUDA?"

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failed=0
table=("$(printf '%-28s %-10s %7s %7s  %s' program tool tests seconds found)")

# What a log says: the tool's own closing line, or how the tests ended.
verdict() {  # log, exit code
  local summary
  summary=$(sed -n 's/^========= \(ERROR SUMMARY\|RACECHECK SUMMARY\): //p' "$1" | tail -1)
  case $2 in
    0) if grep -q 'skipped: no GPU' "$1"; then echo "skipped: no GPU"; else echo "nothing"; fi ;;
    9) echo "${summary:-an error}" ;;
    124 | 137) echo "no end within $limit s" ;;
    *) echo "the tests failed (exit $2)${summary:+; $summary}" ;;
  esac
}

for tool in "${tools[@]}"; do
  for program in "${programs[@]}"; do
    log=$logs/$tool-$program begin=$SECONDS rc=0
    # 9 is neither a test's exit code nor a signal's. The first reports of a program are enough to look at it.
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=0 timeout --kill-after=10 "$limit" \
      "$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 5 --launch-timeout 60 \
      "$build/bin/$program" --gtest_filter="$filter" --gtest_brief=1 >"$log" 2>&1 || rc=$?
    found=$(verdict "$log" "$rc")
    tests=$(sed -n 's/^\[==========\] \([0-9]*\) tests\{0,1\} from .* ran.*/\1/p' "$log" | tail -1)
    table+=("$(printf '%-28s %-10s %7s %7d  %s' "$program" "$tool" "${tests:--}" $((SECONDS - begin)) "$found")")
    echo "${table[-1]}" >&2
    if [[ $rc -ne 0 ]]; then
      failed=1
      grep -E '^(=========|\[  FAILED)' "$log" | head -60 || true
    fi
  done
done
printf '\n'
printf '%s\n' "${table[@]}"
exit $failed
