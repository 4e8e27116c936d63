#!/usr/bin/env bash
# Installs what is missing, builds, and runs `apc ARGS...`: tools/run.sh ARGS...
#
# Messages of set-up and build go to stderr: stdout is the tool's alone. The exit code is the tool's; 2 when
# packages are missing and cannot be installed, 3 when the build fails.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/tools/setup.sh" >&2
"$root/tools/build.sh" release apc >&2 || exit 3
exec "$root/build/bin/apc" "$@"
