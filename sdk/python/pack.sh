#!/bin/sh
# pack.sh VERSION DIR builds the wheel of the binary's version in DIR.
set -eu
exec python3 "$(dirname "$0")/wheel.py" "$1" "$2"
