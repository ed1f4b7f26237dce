#!/bin/sh
# servers.sh DIR installs the servers that TestServers starts: three of the reference
# servers for node, three for Python. What is there already stays.
set -eu
dir=$1
mkdir -p "$dir"
if [ ! -x "$dir/node_modules/.bin/mcp-server-memory" ]; then
	npm install --silent --no-audit --no-fund --prefix "$dir" \
		@modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-memory@2026.8.31 @modelcontextprotocol/server-everything@2026.8.31
fi
if [ ! -x "$dir/venv/bin/mcp-server-time" ]; then
	python3 -m venv "$dir/venv"
	"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mcp-server-time==2026.10.19 mcp-server-git==2026.10.19 mcp-server-fetch==2026.10.24
fi
