#!/bin/sh
# run.sh runs opencode's own tests of its permission module with obstat in its place, and CALLS calls beside opencode's
# own tools. The sources are fetched once, and installed with the Bun inside opencode's package; where that fails, it
# says so.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${OBSTAT_SDK:-$HOME/.cache/obstat-sdk}
version=1.18.18
dir=$cache/theirs-opencode-$version
bun=$(ls "$cache"/node-full-*/node_modules/opencode-linux-x64/bin/opencode 2>/dev/null | head -1)
if [ -z "$bun" ]; then
	echo "skipped, for opencode's package is not there: FULL=1 sh sdk/typescript/test.sh installs it"
	exit 0
fi
if [ ! -d "$dir/packages/opencode" ]; then
	git clone --quiet --depth 1 --branch "v$version" https://github.com/anomalyco/opencode "$dir" || {
		echo "skipped, for opencode's repository cannot be had: put its sources of v$version into $dir"
		exit 0
	}
fi
if [ ! -d "$dir/node_modules/effect" ]; then
	# Of the workspace what the tests need: other packages have dependencies outside of the registry.
	(cd "$dir" && cd packages && for p in *; do
		case $p in
		opencode | core | schema | plugin | sdk | protocol | llm | script | http-recorder | codemode | server | tui | ui | effect-*) ;;
		*) rm -rf "$p" ;;
		esac
	done)
	(cd "$dir" && rm -f bun.lock && node -e '
		const fs = require("fs"), p = JSON.parse(fs.readFileSync("package.json"))
		p.workspaces.packages = ["packages/*", "packages/sdk/js"]
		Object.assign(p, { dependencies: {}, devDependencies: { typescript: "catalog:" }, scripts: {} })
		delete p.workspaces.catalog["@solidjs/start"]
		fs.writeFileSync("package.json", JSON.stringify(p, null, 1))
		fs.writeFileSync("bunfig.toml", "[install]\nexact = true\n")' &&
		BUN_BE_BUN=1 "$bun" install --silent --ignore-scripts --linker hoisted)
fi
cd "$here/../.."
OBSTAT_OPENCODE=$dir OBSTAT_BUN=$bun go test -count=1 -v -timeout 20m -run 'TestOriginals|TestBeside' . | grep -E '^ *(---|FAIL|ok)|calls:| pass| fail'
