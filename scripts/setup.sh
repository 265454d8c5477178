#!/usr/bin/env bash
# scripts/setup.sh [GROUP...]: makes sure that what a group needs is here. Groups: build (default), format, fuzz, hip,
# cache, python, picture, plots, aarch64.
#
# Looks first, and calls no package manager when all is here. Otherwise installs Debian packages, as root or through
# sudo; where that may not be done (no Debian, no rights, RIDGE_NO_INSTALL=1) it lists what is missing with the command
# to run, and exits 1. What each package is for: docs/dependencies.md.
set -euo pipefail

missing_what=() missing_packages=()
lacks() {  # what it is, Debian package...
  missing_what+=("$(printf '%-44s %s' "$1" "${*:2}")")
  missing_packages+=("${@:2}")
}
have() { command -v "$1" >/dev/null 2>&1; }

# The compiler CMake will take: $CXX, else c++ or g++.
compiler() { for c in "${CXX:-}" c++ g++; do [[ -n $c ]] && have "${c%% *}" && echo "$c" && return; done; return 1; }

at_least() { printf '%s\n%s\n' "$1" "$2" | sort -CV; }  # version $1 <= version $2

check_build() {
  local cxx language absent
  if cxx=$(compiler); then
    language=$(echo __cplusplus | $cxx -std=c++20 -E -P -x c++ - 2>/dev/null | tail -1) || language=
    [[ ${language%L} -ge 202002 ]] 2>/dev/null || lacks "a C++20 compiler ($cxx is none)" g++
    # One run of the preprocessor finds every library's header.
    absent=$($cxx -std=c++20 -E -P -x c++ - <<'SOURCE' 2>/dev/null
#if !__has_include(<span>) || !__has_include(<features.h>)
standard
#endif
#if !__has_include(<gtest/gtest.h>)
gtest
#endif
#if !__has_include(<CLI/CLI.hpp>)
cli11
#endif
#if !__has_include(<fmt/format.h>)
fmt
#endif
#if !__has_include(<nlohmann/json.hpp>)
json
#endif
SOURCE
) || true
  else
    lacks "a C++20 compiler (g++ 12 or newer)" g++
    absent="gtest cli11 fmt json"
    for header in /usr/include/{gtest/gtest.h,CLI/CLI.hpp,fmt/format.h,nlohmann/json.hpp}; do
      case $header in
        *gtest*) word=gtest ;; *CLI*) word=cli11 ;; *fmt*) word=fmt ;; *) word=json ;;
      esac
      [[ ! -e $header ]] || absent=${absent/$word/}
    done
  fi
  case $absent in *standard*) lacks "the C++ standard library's headers" g++ ;; esac
  case $absent in *gtest*) lacks "GoogleTest" libgtest-dev ;; esac
  case $absent in *cli11*) lacks "CLI11" libcli11-dev ;; esac
  case $absent in *fmt*) lacks "fmt" libfmt-dev ;; esac
  case $absent in *json*) lacks "JSON for Modern C++" nlohmann-json3-dev ;; esac
  local cmake_version
  cmake_version=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*//p') || true
  at_least 3.25 "${cmake_version:-0}" || lacks "CMake 3.25 or newer${cmake_version:+ (this is $cmake_version)}" cmake
  have "${CC:-cc}" || lacks "a C compiler" gcc
  have pkg-config || lacks "pkg-config" pkg-config
  have ninja || have make || lacks "ninja or make" ninja-build
}

check_format() { have clang-format-14 || lacks "clang-format 14" clang-format-14; }

check_fuzz() {
  local here
  here=$(clang++-14 -print-resource-dir 2>/dev/null) || here=
  [[ -n $here ]] || lacks "clang 14" clang-14
  compgen -G "${here:-/none}/lib/*/libclang_rt.fuzzer*.a" >/dev/null || lacks "libFuzzer's run time" libclang-rt-14-dev
}

check_cache() { have ccache || lacks "ccache" ccache; }

check_hip() { have hipcc || lacks "hipcc" hipcc; }

check_aarch64() {
  have aarch64-linux-gnu-g++ || lacks "a compiler for aarch64" g++-aarch64-linux-gnu
  have qemu-aarch64 || lacks "an emulator of aarch64" qemu-user
  [[ -e /usr/src/googletest/CMakeLists.txt ]] || lacks "GoogleTest's source" googletest
}

check_picture() { [[ -e /usr/include/png.h ]] || pkg-config --exists libpng 2>/dev/null || lacks "libpng" libpng-dev; }

check_plots() { python3 -c 'import matplotlib' 2>/dev/null || lacks "Python's matplotlib" python3-matplotlib; }

check_python() {
  python3 -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' 2>/dev/null ||
    lacks "Python's headers" python3-dev
  python3 -c 'import ensurepip, venv' 2>/dev/null || lacks "Python's virtual environments" python3-venv
}

groups=("${@:-build}")
check() {
  missing_what=() missing_packages=()
  for group in "${groups[@]}"; do
    case $group in
      build | format | fuzz | hip | cache | python | picture | plots | aarch64) "check_$group" ;;
      *)
        echo "scripts/setup.sh: '$group' is no group; groups are build format fuzz hip cache python picture plots" \
          "aarch64" >&2
        exit 2 ;;
    esac
  done
}
check
[[ ${#missing_what[@]} -gt 0 ]] || exit 0

# With a package manager at work anyway, ninja comes along: it starts faster than make.
[[ " ${groups[*]} " != *" build "* ]] || have ninja || missing_packages+=(ninja-build)
mapfile -t packages < <(printf '%s\n' "${missing_packages[@]}" | sort -u)
apt="apt-get install -y --no-install-recommends ${packages[*]}"

as_root=()
may_install() {  # sets as_root; else says why not
  [[ -z ${RIDGE_NO_INSTALL:-} ]] || { echo "RIDGE_NO_INSTALL is set"; return 1; }
  have apt-get && [[ -e /etc/debian_version ]] || { echo "this is no Debian system"; return 1; }
  [[ $(id -u) -ne 0 ]] || return 0
  have sudo || { echo "this is not root, and there is no sudo"; return 1; }
  if [[ -t 0 && -t 2 ]] || sudo -n true 2>/dev/null; then as_root=(sudo); return 0; fi
  echo "this is not root, and sudo asks for a password where there is no terminal"
  return 1
}
give_up() {  # why
  {
    echo "Ridge cannot be built yet. Missing here:"
    printf '  %s\n' "${missing_what[@]}"
    echo "They were not installed: $1."
    if [[ -e /etc/debian_version ]]; then
      if have sudo && [[ $(id -u) -ne 0 ]]; then echo "Run:  sudo apt-get update && sudo $apt"
      else echo "Run as root:  apt-get update && $apt"; fi
    else
      echo "The names on the right are Debian's. Install them with this system's package manager; on Debian it is:"
      echo "  apt-get update && $apt"
    fi
  } >&2
  exit 1
}

may_install >/dev/null || give_up "$(may_install)"
echo "Installing Debian packages: ${packages[*]}"
options=(-qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
get() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" "$@" </dev/null; }
get update || echo "apt-get update failed; going on with the lists that are here" >&2
get install -y --no-install-recommends "${packages[@]}" || give_up "apt-get failed (above)"
check
[[ ${#missing_what[@]} -eq 0 ]] || give_up "the packages are installed, and this is still missing"
