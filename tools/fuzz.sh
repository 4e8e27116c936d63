#!/usr/bin/env bash
# Fuzzers and sanitized unit tests: tools/fuzz.sh --build | --tests ROOM | --answers | FUZZER [SECONDS]
#
# FUZZER is a program of test/Fuzz (ImportFuzzer, JsonFuzzer); SECONDS is 60 when left out. A run starts from
# test/Fuzz/corpus/FUZZER and keeps what it learns in build-fuzz/corpus/FUZZER; an input that fails is kept in
# build-fuzz/failures and named. --tests runs the unit tests of a room of the core, --answers prints
# what the core decides (test/Answers) and nothing else on stdout, --build builds all of it.
# AddressSanitizer and UndefinedBehaviorSanitizer watch our own code; LLVM's library is not instrumented.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$root/build-fuzz
usage="usage: tools/fuzz.sh --build | --tests ROOM | --answers | FUZZER [SECONDS]"
what=${1:?$usage}

# Two tests that run at the same time must not build at the same time.
build() {
  mkdir -p "$folder"
  flock "$folder/lock" "$root/tools/build.sh" fuzz "$1"
}

export ASAN_OPTIONS=detect_container_overflow=0:allocator_may_return_null=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
case $what in
  --build)
    build fuzz
    ;;
  --tests)
    room=${2:?$usage}
    build "APC${room}Tests"
    exec "$folder/bin/APC${room}Tests"
    ;;
  --answers)
    build APCAnswers >&2
    exec "$folder/bin/APCAnswers"
    ;;
  *)
    build "$what"
    mkdir -p "$folder/corpus/$what" "$folder/failures"
    exec "$folder/bin/$what" -max_total_time="${2:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
      -print_final_stats=1 -print_funcs=0 -verbosity=0 -seed=1 -artifact_prefix="$folder/failures/$what-" \
      "$folder/corpus/$what" "$root/test/Fuzz/corpus/$what"
    ;;
esac
