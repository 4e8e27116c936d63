#!/usr/bin/env bash
# Installs what is missing, builds everything, runs the checks: tools/test.sh [CTEST-ARGS...]
#
# Arguments go to ctest: `tools/test.sh -R House` runs the checks of the house alone. Checks labelled Long run only
# where arguments choose them (`-R Runtimes`). Ends with a summary of phases and their durations; the exit code is 0
# only when all went well.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
summary=()
failed=0

# phase NAME COMMAND...: runs the command, notes how long it took and how it ended.
phase() {
  local name=$1 start=$SECONDS result=ok
  shift
  echo "== $name"
  "$@" || { result="FAILED (exit code $?)"; failed=1; }
  summary+=("$(printf '%-12s %5d s  %s' "$name" $((SECONDS - start)) "$result")")
}

# Nothing after a failed phase would mean anything: say so and stop.
must() {
  phase "$@"
  if [ "$failed" -ne 0 ]; then
    finish
  fi
}

finish() {
  echo "== summary"
  printf '%s\n' "${summary[@]}"
  printf '%-12s %5d s  %s\n' total "$SECONDS" "$([ "$failed" -eq 0 ] && echo ok || echo FAILED)"
  exit "$failed"
}

must setup "$root/tools/setup.sh"
must build "$root/tools/build.sh" release
must fuzz-build "$root/tools/fuzz.sh" --build
must gcc-build "$root/tools/build.sh" gcc APCAnswers
[ $# -gt 0 ] || set -- --label-exclude Long
phase checks ctest --test-dir "$root/build" --output-on-failure --parallel 2 --no-tests=error "$@"
finish
