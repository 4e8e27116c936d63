#!/usr/bin/env bash
# Installs the Debian packages that are missing: tools/setup.sh [LIST]
#
# LIST holds one package a line, '#' starts a comment; third_party/packages.txt when left out. Nothing is touched when
# all are there. As root, or where sudo asks no password, the missing ones are installed; otherwise the command to run
# is printed and the exit code is 2.
#
# tools/setup.sh --runtimes: installs the Python packages of third_party/python.txt, which tests of emitted programs
# use, into build/venv. Where they cannot be had, those tests are skipped.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ "${1:-}" = --runtimes ]; then
  /usr/bin/python3 -m venv "$root/build/venv"
  exec "$root/build/venv/bin/pip" install --quiet --requirement "$root/third_party/python.txt"
fi
list=${1:-$root/third_party/packages.txt}

if ! command -v dpkg-query >/dev/null; then
  echo "setup: dpkg-query is not here: apc is built on Debian 12; install what $list names by other means" >&2
  exit 2
fi

mapfile -t wanted < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$list")
missing=()
for package in "${wanted[@]}"; do
  if ! dpkg-query --show --showformat='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed; then
    missing+=("$package")
  fi
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

install=(apt-get install -y --no-install-recommends "${missing[@]}")
if [ "$(id -u)" -eq 0 ]; then
  as_root=(env DEBIAN_FRONTEND=noninteractive)
elif sudo -n true 2>/dev/null; then
  as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
else
  echo "setup: ${#missing[@]} packages are missing. Run this, then try again:" >&2
  echo "  sudo apt-get update && sudo ${install[*]}" >&2
  exit 2
fi
echo "setup: installing ${missing[*]}" >&2
if ! "${as_root[@]}" apt-get update -q >&2 || ! "${as_root[@]}" "${install[@]}" -q >&2; then
  echo "setup: apt-get failed; packages wanted: ${missing[*]}" >&2
  exit 2
fi
