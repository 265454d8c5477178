#!/usr/bin/env bash
# bench/trace_validation/run.sh BUILD [OUT]: traces and, where there is a GPU with Nsight Compute, counts the same
# kernels; then compares. BUILD is a configured build of Ridge with CUDA. Files go to OUT (default BUILD/trace_validation):
# trace.csv, ncu.csv, and the comparison as trace_validation.json and .md.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${1:?usage: run.sh BUILD [OUT]}
out=${2:-$build/trace_validation}
mkdir -p "$out"

cmake --build "$build" --parallel --target trace_validation trace_validation_gpu
"$build/bin/trace_validation" >"$out/trace.csv"

metrics=()
for op in ld st red atom; do
  metrics+=("l1tex__t_requests_pipe_lsu_mem_global_op_$op" "l1tex__t_sectors_pipe_lsu_mem_global_op_$op")
done
for op in ld st atom; do
  metrics+=("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_$op" "smsp__inst_executed_op_shared_$op")
done
# Nsight Compute stops at a metric that it does not know on this chip.
known=$(ncu --query-metrics --chip gh100 2>/dev/null | awk '{print $1}' || true)
wanted=
for metric in "${metrics[@]}"; do
  if [[ -z $known ]] || grep -qx "$metric" <<<"$known"; then wanted+=${wanted:+,}$metric.sum
  else echo "Nsight Compute has no $metric here; it is left out" >&2; fi
done
ncu --clock-control none --cache-control none --csv --metrics "$wanted" "$build/bin/trace_validation_gpu" >"$out/ncu.csv"
python3 "$here/compare.py" "$out/trace.csv" "$out/ncu.csv" "$out/trace_validation"
