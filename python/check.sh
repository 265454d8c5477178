#!/usr/bin/env bash
# check.sh BUILD [PYTEST OPTION...]: packs the wheel of what is built in BUILD, installs it with NumPy into a virtual
# environment of its own, and runs the package's tests there. Exits 77 where there is nothing to do that with.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "$1" && pwd)
shift
python=$(command -v python3)
unset PYTHONPATH PYTHONHOME
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

skip() {
  echo "skipped: $1"
  exit 77
}
"$python" -m venv "$scratch/venv" >"$scratch/log" 2>&1 || skip "python3 makes no virtual environment (Debian: python3-venv)"
pip=("$scratch/venv/bin/python" -m pip --disable-pip-version-check --quiet --retries 1 --timeout 20)
"${pip[@]}" install --require-hashes -r "$here/requirements.txt" >"$scratch/log" 2>&1 ||
  skip "NumPy, ml_dtypes and pytest could not be installed from PyPI ($(tail -1 "$scratch/log"))"

wheel=$("$python" "$here/build_wheel.py" "$build" "$scratch")
"${pip[@]}" install --no-index "$wheel"
cd "$scratch"  # away from the source: what is imported is the wheel
"$scratch/venv/bin/python" -m pytest -q -p no:cacheprovider "$here/tests" "$@"
