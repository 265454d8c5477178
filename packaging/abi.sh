#!/usr/bin/env bash
# packaging/abi.sh LIBRIDGE [--write]: holds the names that a CPU-only libridge exports against packaging/abi.txt, and says
# which were added and which were lost. A change that means to do either commits the file that --write makes.
set -euo pipefail
agreed=$(dirname "$0")/abi.txt
exports() {  # name@@version, demangled; not the versions' own symbols
  nm --dynamic --defined-only --demangle --with-symbol-versions "$1" | sed -e '/ A /d' -e 's/^[0-9a-f]* [A-Za-z] //' | LC_ALL=C sort -u
}
names=$(exports "$1")
if [[ ${2-} == --write ]]; then
  printf '%s\n' "$names" >"$agreed"
elif ! changes=$(diff --old-line-format='lost:  %L' --new-line-format='added: %L' --unchanged-line-format='' "$agreed" - <<<"$names"); then
  printf '%s\n' "$changes"
  echo "libridge exports other names than packaging/abi.txt; if that is meant: packaging/abi.sh $1 --write" >&2
  exit 1
fi
echo "$(wc -l <"$agreed") names are exported: $(sed 's/.*@@//' "$agreed" | sort | uniq -c | awk '{print $1, "of", $2}' | paste -sd ';' | sed 's/;/; /g')"
