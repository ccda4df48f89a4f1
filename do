#!/usr/bin/env bash
# The one script of this repository: installs what is missing, builds, runs. See `./do help`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# Debian 12 packages. The first list is enough for `run` and `bench`; `test`, `wasm` and `format`
# need the second as well.
PACKAGES_BUILD=(
  g++ cmake ninja-build ccache python3
  libboost1.81-dev libxxhash-dev liburing-dev libfmt-dev libcli11-dev catch2
)
PACKAGES_TEST=(
  clang libclang-rt-14-dev clang-format emscripten nodejs node-acorn util-linux
)

JOBS=$(nproc)

BOLD='' PLAIN=''
if [[ -t 1 ]]; then BOLD=$'\e[1m' PLAIN=$'\e[0m'; fi

say() { printf '\n%s== %s%s\n' "$BOLD" "$*" "$PLAIN"; }
note() { printf '   %s\n' "$*"; }

# Installs those of the given packages that are missing; says which, and asks for nothing.
install_packages() {
  local missing=() package as_root=()
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    note "All packages are installed."
    return
  fi
  say "Installing with apt: ${missing[*]}"
  if ((EUID != 0)); then
    command -v sudo >/dev/null || {
      echo "Run this as root, or install sudo, or install those packages yourself." >&2
      return 1
    }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null
}

# build <preset> [target...]: configures and builds build/<preset>.
build() {
  local preset=$1
  shift
  cmake --preset "$preset" --log-level=WARNING >"/dev/null"
  if (($# > 0)); then set -- --target "$@"; fi
  cmake --build --preset "$preset" -j "$JOBS" "$@"
}

# What `run` and `bench` need of a build: not the tests.
native_targets() {
  if [[ -f native/CMakeLists.txt ]]; then echo native/all; fi
}

# Stages of `./do test`: each runs whatever the earlier ones gave, and the summary lists all.
SUMMARY=()
FAILED=0

# stage <name> <command...>
stage() {
  local name=$1 started=$SECONDS verdict=passed
  shift
  say "$name"
  # In a subshell of its own, because `set -e` is off in a command whose status is tested.
  set +e
  (set -e; "$@")
  local status=$?
  set -e
  if ((status != 0)); then
    verdict=FAILED
    FAILED=1
  fi
  SUMMARY+=("$(printf '%-7s %5d s  %s' "$verdict" $((SECONDS - started)) "$name")")
}

build_and_test() {
  build "$1"
  ctest --preset "$1" -j "$JOBS"
}

do_test() {
  say "Cordwood: all tests. Four builds (release, address, thread, WebAssembly), each with its tests."
  install_packages "${PACKAGES_BUILD[@]}" "${PACKAGES_TEST[@]}"
  stage "release: g++ -O3, all tests with the slow ones" build_and_test release
  stage "asan: clang++, address and undefined-behaviour sanitizers, fast tests" build_and_test asan
  stage "tsan: thread sanitizer, tests with threads" build_and_test tsan
  stage "wasm: Emscripten, unit tests under Node.js" build_and_test wasm
  say "Summary"
  printf '   %s\n' "${SUMMARY[@]}"
  if ((FAILED)); then
    note "Something failed: see above."
  else
    note "All passed."
  fi
  return "$FAILED"
}

do_run() {
  say "Cordwood: build the command-line tool, then the demonstration (scripts/run_demo.sh)."
  install_packages "${PACKAGES_BUILD[@]}"
  say "Building build/release"
  build release $(native_targets)
  if [[ ! -x scripts/run_demo.sh ]]; then
    note "The demonstration, scripts/run_demo.sh, is not in this tree yet. What was built is in build/release."
    return
  fi
  exec scripts/run_demo.sh "$@"
}

do_bench() {
  say "Cordwood: build the benchmarks optimised, then run them (arguments are passed on)."
  install_packages "${PACKAGES_BUILD[@]}"
  say "Building build/release"
  build release $(native_targets)
  local bench=build/release/native/cordwood_bench
  if [[ ! -x $bench ]]; then
    note "The benchmarks, $bench, are not in this tree yet."
    return
  fi
  exec "$bench" "$@"
}

do_wasm() {
  say "Cordwood: build core/, its tests and the browser module with Emscripten in build/wasm."
  install_packages "${PACKAGES_BUILD[@]}" "${PACKAGES_TEST[@]}"
  build wasm
}

do_format() {
  say "Cordwood: clang-format over all C++ files${1:+ ($1: say what would change, change nothing)}."
  install_packages "${PACKAGES_BUILD[@]}" "${PACKAGES_TEST[@]}"
  local how=(-i)
  [[ ${1:-} == --check ]] && how=(--dry-run --Werror)
  git ls-files -z --cached --others --exclude-standard -- '*.cpp' '*.hpp' |
    xargs -0 --no-run-if-empty clang-format "${how[@]}"
}

do_help() {
  cat <<'HELP'
./do <what>: installs missing Debian packages, builds, and runs. Says what it does before it does it.

  run      build the tool and show it on an image of its own
  test     all tests: release, address, thread and WebAssembly builds; closes with a summary
  bench    the benchmarks; arguments are passed on
  wasm     build core/ and its tests to WebAssembly
  format   clang-format over all C++ files; `format --check` only looks
  help     this text

Needs Debian 12, as root or with sudo when a package is missing. Builds go to build/<preset>.
HELP
}

what=${1:-help}
(($# > 0)) && shift
case $what in
  run | test | bench | wasm | format) "do_$what" "$@" ;;
  help | -h | --help) do_help ;;
  *)
    echo "Unknown: $what" >&2
    do_help >&2
    exit 2
    ;;
esac
