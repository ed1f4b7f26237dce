#!/bin/sh
# Fetches the files of others that the console serves, and checks that they are the
# ones that were looked at: uPlot 1.6.32, under the MIT licence.
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
(cd "$tmp" && npm pack --silent uplot@1.6.32 && tar xzf uplot-1.6.32.tgz)
mkdir -p static/uplot
cp "$tmp/package/dist/uPlot.iife.min.js" "$tmp/package/dist/uPlot.min.css" "$tmp/package/LICENSE" static/uplot/
sha256sum -c digests.txt
