#!/bin/sh
# servers.sh DIR installs the servers that TestServers starts: three of the reference
# servers for node, three for Python. They are installed beside DIR and renamed when all is
# there, so that an installation that is cut off is none; the file `whole-2` says that DIR is
# of this script.
set -eu
mkdir -p "$(dirname "$1")"
dir=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
if [ -e "$dir/whole-2" ]; then exit 0; fi
new=$dir.new.$$
trap 'rm -rf "$new"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$new"
npm install --silent --no-audit --no-fund --prefix "$new" \
	@modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-memory@2026.8.31 @modelcontextprotocol/server-everything@2026.8.31
python3 -m venv "$new/venv"
"$new/venv/bin/python" -m pip install --quiet --disable-pip-version-check mcp-server-time==2026.10.19 mcp-server-git==2026.10.19 mcp-server-fetch==2026.10.24
# The server fetch would install modules of node by itself at its first call.
for js in "$new"/venv/lib/python3*/site-packages/readabilipy/javascript; do
	npm install --silent --no-audit --no-fund --prefix "$js"
done
# The programs of a venv begin with the path of its python.
for program in "$new"/venv/bin/*; do
	if [ -f "$program" ] && [ ! -L "$program" ]; then
		sed "1s|^#!$new/|#!$dir/|" "$program" > "$program.moved" && cat "$program.moved" > "$program" && rm "$program.moved"
	fi
done
: > "$new/whole-2"
rm -rf "$dir"
mv "$new" "$dir"
