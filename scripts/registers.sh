#!/usr/bin/env bash
# Lists what nvcc makes of every kernel: registers of a thread, bytes spilled, bytes of static shared memory. Needs nvcc
# and no GPU.   scripts/registers.sh [ARCH] [FILE.cu...]      (90a, and every operator's kernels)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
arch=${1:-90a}
shift || true
files=("$@")
if [[ ${#files[@]} -eq 0 ]]; then
  mapfile -t files < <(find ridge -mindepth 2 -maxdepth 2 -name '*.cu' ! -path 'ridge/simt/*' ! -name peers.cu ! -name test.cu | sort)
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
printf '%9s %7s %7s  %s\n' registers spilled shared "kernel (sm_$arch)"
for file in "${files[@]}"; do
  nvcc -std=c++20 -O3 -DNDEBUG -gencode "arch=compute_$arch,code=sm_$arch" --expt-relaxed-constexpr -DRIDGE_HAS_CUDA=1 -I. \
    -cubin -Xptxas=-v "$file" -o "$scratch/x.cubin" 2>"$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
  awk '/Compiling entry function/ { split($0, q, "\x27"); name = q[2] }
       /bytes spill stores/ { for (i = 1; i < NF; ++i) if ($i == "bytes" && $(i + 1) == "spill" && $(i + 2) ~ /stores/) spilled = $(i - 1) }
       /Used [0-9]+ registers/ {
         shared = 0
         for (i = 1; i < NF; ++i) if ($i == "bytes" && $(i + 1) ~ /smem/) shared = $(i - 1)
         for (i = 1; i < NF; ++i) if ($i == "Used") printf "%9d %7d %7d  %s\n", $(i + 1), spilled, shared, name
       }' "$scratch/log" | c++filt | sed -E 's/(ridge::[a-z_]+_detail::|ridge::|\(anonymous namespace\)::|simt::|void )//g' | sort -k4
done
