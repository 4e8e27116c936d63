#!/usr/bin/env bash
# Builds and runs the libFuzzer targets: tools/fuzz.sh --build | TARGET [SECONDS]
#
# TARGET is a program of test/Fuzz (ImportFuzzer, JsonFuzzer); SECONDS is 60 when left out. A run starts from
# test/Fuzz/corpus/TARGET and keeps what it learns in build-fuzz/corpus/TARGET; an input that fails is kept in
# build-fuzz/failures and named. Both sanitizers watch our own code; LLVM's library is not instrumented.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$root/build-fuzz
usage="usage: tools/fuzz.sh --build | TARGET [SECONDS]"
target=${1:?$usage}

mkdir -p "$folder"
if [ "$target" = --build ]; then
  flock "$folder/lock" "$root/tools/build.sh" fuzz fuzz
  exit
fi
flock "$folder/lock" "$root/tools/build.sh" fuzz "$target"

mkdir -p "$folder/corpus/$target" "$folder/failures"
export ASAN_OPTIONS=detect_container_overflow=0:allocator_may_return_null=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
exec "$folder/bin/$target" -max_total_time="${2:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
  -print_final_stats=1 -verbosity=0 -artifact_prefix="$folder/failures/$target-" \
  "$folder/corpus/$target" "$root/test/Fuzz/corpus/$target"
