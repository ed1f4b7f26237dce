#!/bin/sh
# pack.sh VERSION DIR builds the wheel of the binary's version in DIR.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$(dirname "$0")/../typescript/wasm.sh" "$work/obstat.wasm"
python3 "$(dirname "$0")/wheel.py" "$1" "$2" "$work/obstat.wasm"
