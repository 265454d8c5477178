#!/usr/bin/env bash
# The tests of the GPU under compute-sanitizer, tool by tool: a table of what each found in each program, and exit code 1
# where a tool reports or a test fails. Of each program's tests the SHARDth of SHARDS is run, as the tools take 10 to 100
# times as long as the tests alone. Reports of kernels that sanitize.known names are counted as known.
#
#   scripts/sanitize.sh [BUILD] [PROGRAM...]     (build, and every X_test of BUILD/bin that has tests of the GPU)
#
#   TOOLS="memcheck racecheck initcheck synccheck"   SHARDS=40   SHARD=0   FILTER='*.cuda*:cuda/*'   SECONDS_EACH=300
#   JOBS=1 (programs at a time)
set -euo pipefail
build=${1:-build}
shift || true
read -ra tools <<<"${TOOLS:-memcheck racecheck initcheck synccheck}"
shards=${SHARDS:-40} shard=${SHARD:-0} jobs=${JOBS:-1} filter=${FILTER:-*.cuda*:cuda/*} limit=${SECONDS_EACH:-300}

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
((jobs > 0)) || die "JOBS is $jobs; it must be 1 or more"
[[ ${#programs[@]} -gt 0 ]] || die "no program of $build/bin has tests that match '$filter': is it a build with CUDA?"

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'kill $(jobs -rp) 2>/dev/null || true; wait; exit 130' INT TERM

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

# The kernels of a log's reports, and what is of no kernel; but not those of which sanitize.known says that the tool is
# wrong.
unknown() {  # tool, log
  awk -v tool="$1" '$1 == tool { print $2 }' "$(dirname "$0")/sanitize.known" >"$2.known"
  sed -n 's/^========= .*\<at \(void \)\{0,1\}\([a-zA-Z_<>]*::.*\)/\2/p;
          s/^========= \(Host API\|Internal\|Program hit\)/\1/p' "$2" |
    sed 's/+0x[0-9a-f]*.*//' | grep -vFf "$2.known" | sort | uniq -c
}

check() {  # tool, program
  local log=$logs/$1-$2 begin=$SECONDS rc=0 found tests
  # 9 is neither a test's exit code nor a signal's.
  GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard timeout --kill-after=10 "$limit" \
    "$sanitizer" --tool "$1" --error-exitcode 9 --print-limit 100000 --show-backtrace no --launch-timeout 60 \
    "$build/bin/$2" --gtest_filter="$filter" --gtest_brief=1 >"$log" 2>&1 &
  local running=$!
  trap 'kill "$running" 2>/dev/null' TERM  # timeout has a process group of its own
  wait "$running" || rc=$?
  tests=$(sed -n 's/^\[==========\] \([0-9]*\) tests\{0,1\} from .* ran.*/\1/p' "$log" | tail -1)
  unknown "$1" "$log" >"$log.kernels" || true
  found=$(verdict "$log" "$rc")
  if [[ ${tests:-none} == 0 ]]; then
    rc=0 found="no test in this shard"
  elif [[ $rc -eq 9 && ! -s $log.kernels ]] && grep -q '^=========.* at ' "$log" && ! grep -q '^\[  FAILED' "$log"; then
    rc=0 found="nothing but what sanitize.known has"
  fi
  printf '%-28s %-10s %7s %7d  %s\n' "$2" "$1" "${tests:--}" $((SECONDS - begin)) "$found" | tee "$log.line" >&2
  [[ $rc -eq 0 ]] || (cat "$log.kernels"; grep -E '^(=========|\[  FAILED)' "$log" | head -60) >"$log.found" || true
}

for tool in "${tools[@]}"; do
  for program in "${programs[@]}"; do
    while (($(jobs -rp | wc -l) >= jobs)); do wait -n || true; done
    check "$tool" "$program" &
  done
done
wait
lines=("$logs"/*.line)
[[ ${#lines[@]} -eq $((${#tools[@]} * ${#programs[@]})) ]] || die "a check ended without a result"

cat "$logs"/*.found 2>/dev/null || true
printf '\n%-28s %-10s %7s %7s  %s\n' program tool tests seconds found
cat "${lines[@]}"
[[ -z $(find "$logs" -name '*.found') ]]
