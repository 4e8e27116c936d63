#!/usr/bin/env bash
# Configures a preset when that has not been done, then builds: tools/build.sh PRESET [TARGET...]
#
# A file that includes MLIR takes about 1 GiB to compile, so memory bounds the number of jobs as well as the cores do.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=${1:?usage: tools/build.sh release|gcc|debug|asan|fuzz [TARGET...]}
shift
case $preset in
  release) folder=$root/build ;;
  *) folder=$root/build-$preset ;;
esac

available_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
jobs=$(nproc)
by_memory=$((available_kib / (1536 * 1024)))
if [ "$by_memory" -lt "$jobs" ]; then
  jobs=$((by_memory > 0 ? by_memory : 1))
fi

if [ ! -f "$folder/build.ninja" ]; then
  cmake -S "$root" --preset "$preset"
fi
targets=()
for target in "$@"; do
  targets+=(--target "$target")
done
cmake --build "$folder" -j "$jobs" "${targets[@]}"
