#!/bin/sh
# servers.sh DIR installs the servers that TestServers starts: three of the reference
# servers for node, three for Python. What is there whole stays; an installation that was
# cut off has no file `whole` and is made anew.
set -eu
dir=$1
whole=$dir/whole-1
if [ -e "$whole" ]; then exit 0; fi
rm -rf "$dir/node_modules" "$dir/venv"
mkdir -p "$dir"
npm install --silent --no-audit --no-fund --prefix "$dir" \
	@modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-memory@2026.8.31 @modelcontextprotocol/server-everything@2026.8.31
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mcp-server-time==2026.10.19 mcp-server-git==2026.10.19 mcp-server-fetch==2026.10.24
# The server fetch would install modules of node by itself at its first call.
for js in "$dir"/venv/lib/python3*/site-packages/readabilipy/javascript; do
	npm install --silent --no-audit --no-fund --prefix "$js"
done
: > "$whole"
