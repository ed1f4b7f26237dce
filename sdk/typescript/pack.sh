#!/bin/sh
# pack.sh VERSION DIR builds the package of the binary's version in DIR: obstat-VERSION.tgz.
set -eu
mkdir -p "$2"
out=$(cd "$2" && pwd)
version=${1#v}
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R package.json tsconfig.json README.md ../../LICENSE src "$work"
sh wasm.sh "$work/obstat.wasm"
sed -i "s/\"version\": \"[^\"]*\"/\"version\": \"$version\"/" "$work/package.json"
sed -i "s/VERSION = \"[^\"]*\"/VERSION = \"$version\"/" "$work/src/version.ts"
cache=${OBSTAT_SDK:-$HOME/.cache/obstat-sdk}
dir=$cache/node-pack-$(grep -E '"(typescript|@types/node)":' frameworks/bounded/package.json | cksum | cut -d' ' -f1)
if [ ! -f "$dir/complete" ]; then
	mkdir -p "$dir"
	npm install --silent --no-audit --no-fund --no-save --prefix "$dir" $(sed -nE 's/.*"(typescript|@types\/node)": "(.*)".*/\1@\2/p' frameworks/bounded/package.json)
	touch "$dir/complete"
fi
ln -s "$dir/node_modules" "$work/node_modules"
"$work/node_modules/.bin/tsc" -p "$work"
(cd "$work" && npm pack --silent --pack-destination "$out")
