#!/usr/bin/env bash
# scripts/format.sh [--check]: clang-format 14 over every C++ and CUDA file; --check changes nothing, shows the
# differences, the lines of more than 120 columns (comments: clang-format leaves them as they are) and the error sentences
# that break a rule (scripts/sentences.py), and exits 1 if there are any. Tables between `clang-format off` and `on` are as
# wide as they are.
set -euo pipefail
cd "$(dirname "$0")/.."
clang_format=${CLANG_FORMAT:-clang-format-14}
mapfile -t files < <(find . \( -name '.?*' -o -path './build*' -o -path './out' \) -prune -o -type f \
  \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' -o -name '*.cu' -o -name '*.cuh' \) -print | sort)
[[ ${#files[@]} -gt 0 ]] || exit 0

if [[ ${1:-} != --check ]]; then
  "$clang_format" -i "${files[@]}"
  exit 0
fi
differ=0
for file in "${files[@]}"; do
  "$clang_format" "$file" | diff -u --label "$file" --label "$file, formatted" "$file" - || differ=$((differ + 1))
done
if [[ $differ -gt 0 ]]; then
  echo "$differ of ${#files[@]} files are not formatted; 'make format' does it" >&2
  exit 1
fi
if ! awk '
    FNR == 1 { table = 0 }
    /clang-format off/ { table = 1 }
    /clang-format on/ { table = 0 }
    !table && length($0) > 120 { printf "%s:%d: %d columns\n", FILENAME, FNR, length($0); long = 1 }
    END { exit long }' "${files[@]}" >&2; then
  echo "lines have more than 120 columns" >&2
  exit 1
fi
scripts/sentences.py --check
echo "${#files[@]} files, all formatted"
