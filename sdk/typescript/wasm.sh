#!/bin/sh
# wasm.sh FILE builds the engine as a WebAssembly module, without server, store and command.
set -eu
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/../.."
GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 go build -trimpath -buildmode=c-shared -ldflags='-s -w' -o "$out" ./internal/face/inprocess/wasm
