#!/usr/bin/env bash
# Runs a script beside this one in build/venv, which is made first where it is not there: xla.sh ROOT SCRIPT [ARGS...]
#
# Ends with 77, for a skipped test, where the packages cannot be installed.
set -uo pipefail

root=$1
script=$2
shift 2
python=$root/build/venv/bin/python
if ! "$python" -c 'import jax' 2>/dev/null && ! "$root/tools/setup.sh" --runtimes >/dev/null 2>&1; then
  echo "skipped: tools/setup.sh --runtimes cannot install jaxlib; see third_party/python.txt"
  exit 77
fi
exec "$python" -B "$(dirname "$0")/$script" "$@"
