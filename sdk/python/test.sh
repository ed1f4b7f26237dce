#!/bin/sh
# test.sh checks the Python package: types, style, its own tests, and the adversarial suite around
# the real frameworks, each in an environment of its own that is kept in OBSTAT_SDK.
# FULL=1 takes all frameworks, and their own tests; ORIGINALS=1 those tests alone.
# PYTHONS="python3.10 python3.13" runs the package's own tests with other interpreters as well.
# UPDATE=1 writes the results that docs/frameworks/results.md shows.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${OBSTAT_SDK:-$HOME/.cache/obstat-sdk}
python=${PYTHON:-python3}
mkdir -p "$cache/bin"
(cd "$here/../.." && go build -trimpath -o "$cache/bin/obstat" ./cmd/obstat)
export OBSTAT_BIN="$cache/bin/obstat" PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1
unset OBSTAT_SERVER OBSTAT_TOKEN OBSTAT_START

# env NAME prints the directory of an environment with requirements/NAME.txt, which lists
# everything, so that nothing is resolved anew.
env() {
	file=$here/requirements/$1.txt
	dir=$cache/python-$1-$( (cat "$file"; $python --version) | cksum | cut -d' ' -f1)
	if [ ! -f "$dir/complete" ]; then
		[ "$1" = pytest ] || rm -rf "$cache/python-$1"-*
		$python -m venv "$dir"
		"$dir/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$file"
		touch "$dir/complete"
	fi
	echo "$dir/bin"
}

# originals runs the tests of adk-fluent, AgentScope and openJiuwen with obstat in their place, and CALLS calls beside the
# original programs. The tests are fetched once; where that fails, it says so. Two have them in their repositories alone.
originals() {
	calls=${CALLS:-2000}
	echo "sdk/python: adk-fluent's own tests"
	theirs=$cache/theirs-adk-fluent-0.18.0
	if [ ! -d "$theirs" ]; then
		"$(env adk-fluent)/pip" download --quiet --disable-pip-version-check --no-deps --no-binary adk-fluent -d "$cache" adk-fluent==0.18.0 &&
			mkdir -p "$theirs.new" && tar xzf "$cache/adk_fluent-0.18.0.tar.gz" -C "$theirs.new" --strip-components 1 && mv "$theirs.new" "$theirs" ||
			echo "skipped, for the source distribution of adk-fluent 0.18.0 cannot be had"
	fi
	[ ! -d "$theirs" ] || "$(env adk-fluent)/python" -m theirs adk-fluent "$theirs"
	"$(env adk-fluent)/python" -m theirs.beside adk-fluent "$calls"
	"$(env adk-fluent)/python" -W ignore -m suite.documents adk-fluent
	"$(env adk-fluent)/python" -W ignore -m suite.migrations adk-fluent
	echo "sdk/python: AgentScope's own tests"
	for version in 2.0.4 2.0.6; do
		theirs=$cache/theirs-agentscope-$version
		[ -d "$theirs/tests" ] || git clone --quiet --depth 1 --branch "v$version" https://github.com/agentscope-ai/agentscope "$theirs" ||
			echo "skipped, for AgentScope's repository cannot be had: put its tests of v$version into $theirs/tests"
	done
	theirs=$cache/theirs-agentscope
	[ ! -d "$theirs-2.0.4/tests" ] || "$(env agentscope-2.0.4)/python" -m theirs agentscope "$theirs-2.0.4/tests"
	[ ! -d "$theirs-2.0.6/tests" ] || "$(env agentscope)/python" -m theirs agentscope "$theirs-2.0.6/tests" permission_engine_test.py permission_mode_test.py
	for name in agentscope-2.0.4 agentscope; do
		"$(env $name)/python" -m theirs.beside agentscope "$calls"
		"$(env $name)/python" -W ignore -m suite.documents agentscope
		"$(env $name)/python" -W ignore -m suite.migrations agentscope
	done
	echo "sdk/python: openJiuwen's own tests, and its engine beside obstat's"
	theirs=$cache/theirs-openjiuwen-0.1.16
	[ -d "$theirs/tests" ] || git clone --quiet --depth 1 --branch v0.1.16 https://github.com/openJiuwen-ai/agent-core "$theirs" ||
		echo "skipped, for openJiuwen's repository cannot be had: put its tests of v0.1.16 into $theirs/tests"
	[ ! -d "$theirs/tests" ] || "$(env jiuwenswarm)/python" -m theirs jiuwenswarm "$theirs"
	"$(env jiuwenswarm)/python" -m theirs.beside jiuwenswarm "$calls" >"$cache/jiuwenswarm.log" 2>&1 || {
		tail -5 "$cache/jiuwenswarm.log" # before that it logs what it does
		return 1
	}
	grep "calls," "$cache/jiuwenswarm.log"
	"$(env jiuwenswarm)/python" -W ignore -m theirs.jiuwenswarm_bad >"$cache/jiuwenswarm.log" 2>&1 || {
		tail -5 "$cache/jiuwenswarm.log"
		return 1
	}
	grep "bad input" "$cache/jiuwenswarm.log"
	"$(env jiuwenswarm)/python" -W ignore -m suite.migrations jiuwenswarm
	"$(env tools)/python" -m suite.migrations chorus
	OBSTAT_BESIDE=$calls "$(env postgres)/python" -m pytest -q tests/test_chorus.py # with a PostgreSQL for its audit table
}

cd "$here"
if [ -n "${ORIGINALS:-}" ]; then
	sh ../trusted.sh || exit 0
	originals
	exit 0
fi
tools=$(env tools)
"$tools/ruff" format --quiet --check .
"$tools/ruff" check --quiet .
"$tools/mypy" --no-error-summary
echo "sdk/python: the package"
sh ../trusted.sh || exit 0
"$tools/python" -m pytest -q -rs tests
for other in ${PYTHONS:-}; do
	echo "sdk/python: the package, $($other --version)"
	"$(python=$other env pytest)/python" -m pytest -q tests
done
for name in ${FRAMEWORKS:-langchain openai-agents ${FULL:+pydantic-ai google-adk adk-fluent agentscope agentscope-2.0.4 claude-agent-sdk jiuwenswarm}}; do
	[ -f "requirements/$name.txt" ] || continue
	echo "sdk/python: $name"
	bin=$(env "$name") || exit 1
	"$bin/python" -m suite "$name"
done
# The engine in process, with the module of sdk/typescript, and on the 2,000 cases that package inprocess compares.
if [ -n "${FULL:-}" ]; then
	echo "sdk/python: the engine as WebAssembly"
	bin=$(env wasm)
	sh ../typescript/wasm.sh "$cache/bin/obstat.wasm"
	"$bin/python" -m obstat_sdk.wasm "$cache/bin/obstat.wasm"
	OBSTAT_WASM="$cache/bin/obstat.wasm" "$bin/python" -m pytest -q tests/wasm_engine.py
	(cd ../.. && OBSTAT_WASM_HOST="$bin/python $here/tests/wasm_host.py" go test -count=1 -run TestWASM ./internal/face/inprocess)
fi
# The frameworks' own tests with obstat in their place, and calls beside the originals.
[ -z "${FULL:-}" ] || originals
python3 ../results.py ${UPDATE:+--write}
