# make test   everything that has to be green; does its own set-up; SEED=0 draws new cases
# make cross  builds and vets for macOS, Windows and 32-bit Linux; a part of make test
# make race   the same with the race detector
# make fuzz   every fuzz target, FUZZTIME each
# make bench  obstat's decisions beside other engines'
# make build  bin/obstat
# make dist   packages for people without Go: archives, .deb, container image, formula, checksums, SBOMs
# make play   the playground, in dist/play
# make site   the documentation as a site, in dist/site; a link that leads nowhere fails it
# make sdk    the packages for Python and Node, in dist/, with the binary's version
# make test-sdk  both packages around every framework there is, at all versions that are tested
# make test-originals  the five systems' own tests with obstat in their place, and CALLS calls beside the originals
# make run    the server with its console, and a sample agent whose calls you answer there
# make demo   the same agent on the terminal
# make crash  kills writers of the ledger and hooks, KILLS times each, and breaks everything under hooks
# make lint   what has to be clean before a commit
# make test-effects  the programs of the knowledge base, run and watched; LAB is where their root is made
# make test-attacks  all attacks on confined runs, as root, as a plain user and without namespaces; HARM is a file of cases
# make test-diff  MUTATIONS policies changed by one rule, and as many rewritten, compared
# make mutate  changes packages in small ways, and prints the changes that no test notices
# make record-codex  asks the real codex again about generated rules and commands
# make record-gemini asks the policy engine of the real Gemini CLI again, in the package's directory GEMINI
# make bench-records RECORDS of decisions in SQLite and PostgreSQL, and how long the pages of the console take then
# make test-openapi  requests that schemathesis makes from the server's OpenAPI document, and answers held to it
# make test-ordinary  commands of a working day in projects of many languages, bare and confined; ORDINARY is where
# make test-agents   the real agents from npm, with obstat's hook and a scripted model

GO       ?= go
FUZZTIME ?= 20s
BENCHARGS ?=
DISTARGS ?=
KILLS    ?= 200
MUTATIONS ?= 1000
# For test-effects: where the programs' root is, and flags such as "-lab.only git,tar" or
# "-lab.keep", which keeps the observations for make test.
LAB      ?= /var/tmp/obstat-lab
LABARGS  ?=
# For test-agents: what is run, as in "-agents codex -scenarios denied,ask -keep",
# or "-update -versions codex=0.166.0"; where the agents are kept is OBSTAT_AGENTS.
AGENTARGS ?= -update
# The same for the pairs of runs with and without obstat: "-update -changed" runs those that it answers otherwise now.
PAIRARGS ?= -update -agents claude-code,codex,gemini,opencode,copilot

# Where the frameworks are kept that the tests of sdk/ run, each in an environment of its own.
export OBSTAT_SDK ?= $(HOME)/.cache/obstat-sdk

# Where the servers are kept that the tests of internal/face/mcp start.
export OBSTAT_MCP_SERVERS ?= $(HOME)/.cache/obstat-mcp-servers

# Properties draw the same cases in every run, so that a red build can be made red
# again. SEED=0 draws new ones.
SEED     ?= 1
PROPERTIES := $(shell grep -rl --include='*_test.go' '^	"pgregory.net/rapid"' *.go [a-z]*/ | grep -v '^lab/\|^packaging/' | xargs -n1 dirname | sort -u | sed 's|^|./|')

# Modules of their own, so that what they need stays out of the main one's way.
MODULES  := adkplugin chorusdiscord lab/agents lab/lines lab/ordinary packaging

# Packages in other languages: each has test.sh, where FULL=1 runs everything, and pack.sh VERSION DIR.
SDKS     := $(patsubst %/test.sh,%,$(wildcard sdk/*/test.sh))

# Systems that the binary is built for besides this one.
CROSS    := darwin/arm64 windows/amd64 linux/386
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: all build dist play sdk test-sdk test cross race fuzz bench run demo crash lint setup servers venv test-ordinary test-agents test-drafts test-long test-diff test-effects test-attacks test-undo test-faults mutate node record-codex record-gemini pictures

all: test

test: setup servers
	$(GO) vet ./...
	@props=$$($(GO) list $(PROPERTIES)) && rest=$$($(GO) list ./... | grep -vxF "$$props") && failed=; \
	$(GO) test $$props -rapid.seed=$(SEED) || failed=1; \
	$(GO) test $$rest || failed=1; \
	test -z "$$failed"
	@set -e; for m in $(MODULES); do echo "$$m:"; (cd $$m && $(GO) vet ./... && $(GO) test ./...); done
	@for sdk in $(SDKS); do sh $$sdk/test.sh || exit 1; done
	@$(MAKE) --no-print-directory cross

# What is built for other systems compiles, and for Windows, where most is different, its tests too.
cross:
	@set -e; for target in $(CROSS); do \
		echo "build for $$target"; \
		GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0 $(GO) build ./...; \
	done
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 $(GO) vet ./...

race: setup
	$(GO) test -race ./...
	@set -e; for m in $(MODULES); do (cd $$m && $(GO) test -race ./...); done

# go test runs one fuzz target at a time, so they take turns.
fuzz: setup
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$pkg; \
		done; \
	done

bench:
	cd lab/bench && $(GO) run . $(BENCHARGS)

RECORDS ?= 1000000
.PHONY: bench-records
bench-records:
	$(GO) test -count=1 -timeout 2h -v ./internal/face/console -run TestManyRecords -args -records $(RECORDS)
	$(GO) test -count=1 -timeout 2h -v ./internal/face/console -run TestManyRecords -args -records $(RECORDS) -postgres

# Needs npm and its registry once.
AXE ?= $(HOME)/.cache/obstat-axe
.PHONY: test-axe
test-axe: setup node
	npm install --silent --no-audit --no-fund --prefix $(AXE) axe-core@4
	$(GO) test -count=1 -v ./internal/face/console -run TestAxe -args -axe $(AXE)/node_modules/axe-core/axe.min.js

# Needs pip and its registry once.
SCHEMATHESIS ?= $(HOME)/.cache/obstat-schemathesis
.PHONY: test-openapi
test-openapi: venv
	test -x $(SCHEMATHESIS)/bin/st || { python3 -m venv $(SCHEMATHESIS) && $(SCHEMATHESIS)/bin/pip install -q schemathesis==4.32.5; }
	$(GO) test -count=1 -timeout 30m -v ./internal/face/server -run TestSchemathesis -args -schemathesis $(SCHEMATHESIS)/bin/st

# Without cgo, since agents start it for every call: it starts faster.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w' -o bin/ ./cmd/obstat

# Two builds of one commit are the same, byte for byte. DISTARGS="-only linux_amd64" builds one.
dist:
	$(GO) run -C packaging ./make $(DISTARGS)

# Plain files for any web server; obstat serve --play dist/play shows them at /play.
play:
	$(GO) run -C packaging ./make -play -out dist/play

# The documentation as a site, with search: plain files for any web server.
.PHONY: site
site:
	$(GO) run -C packaging ./make -site -out dist/site

# What the playground answers in Chromium, without a network, beside the command; make test asks 100 of them.
.PHONY: test-play
test-play: setup
	$(GO) test -count=1 -timeout 30m -v ./internal/face/cli -run TestPlayground -play.cases 2000

sdk:
	@set -e; version=$$($(GO) run -C packaging ./make -version); for sdk in $(SDKS); do sh $$sdk/pack.sh $$version dist; done

# The frameworks that are too large for make test as well.
test-sdk: setup venv node
	@for sdk in $(SDKS); do FULL=1 sh $$sdk/test.sh || exit 1; done

# Needs the registry of Python once, and for AgentScope's tests its repository.
.PHONY: test-originals
test-originals: setup venv
	@ORIGINALS=1 sh sdk/python/test.sh
	@sh host/opencode/testdata/originals/run.sh

run:
	@$(GO) run ./cmd/obstat serve --demo

demo:
	@$(GO) run ./cmd/obstat demo

# The screens of docs/screens.md, drawn anew.
pictures:
	$(GO) test ./internal/face/cli -run TestPictures -update

# The same job by hand: a few calls explained on a sample policy.
examples:
	@sh examples/run.sh

# The short version of each is part of make test.
crash:
	OBSTAT_KILLS=$(KILLS) $(GO) test -count=1 -timeout 30m -run TestKilledWriters ./internal/keep/sqlite
	$(GO) test -count=1 -timeout 30m ./internal/face/hookcrash -args -long -kills $(KILLS)
	$(GO) test -count=1 -timeout 30m -v ./internal/keep/changes -run TestKilledAtCalls -args -every-call
	$(GO) test -count=1 -timeout 30m -v ./internal/guard/undo -run TestKilledCommit -args -every-call

# As root, with faketime installed; TestCluster is the short version.
FAULTS ?= 5
test-faults: setup
	$(GO) test -count=1 -timeout 1h -v ./internal/face/server -run TestFaults -args -faults $(FAULTS)

lint:
	@out=$$(gofmt -l $$(git ls-files '*.go' | grep -v /testdata/)); \
	if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) test ./internal/archtest

# Some tests confirm an answer with the real bash or python3, open terminals with tmux, screen and others, look at pages with
# Chromium, or start a PostgreSQL of their own, and git is what a checkout has anyway. They are fetched only where missing and only by root.
setup:
	@command -v $(GO) >/dev/null || { echo "Go is missing: install the version that go.mod names"; exit 1; }
	@missing=; for tool in bash python3 chromium tmux screen expect socat dtach at gdb strace minisign; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing="$$missing postgresql"; \
	if [ -n "$$missing" ]; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
		else echo "not installed:$$missing; the tests that need them say so and are skipped"; fi; \
	fi

# Real servers of the Model Context Protocol for the tests of internal/face/mcp, once.
servers: node venv
	@sh internal/face/mcp/servers.sh $(OBSTAT_MCP_SERVERS)

venv:
	@python3 -m venv --help >/dev/null 2>&1 && python3 -c 'import ensurepip' 2>/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv; \
		else echo "python3's venv is missing: install python3-venv"; exit 1; fi; \
	}

# What init, convert and suggest make of 200 generated projects is no looser than their rules.
test-drafts:
	go test ./internal/face/cli ./internal/study/suggest -run NeverLooser -drafts 200 -timeout 3h -v

# The long form of tests that try some of their cases by default.
test-long:
	go test ./dialect/all -long -timeout 1h
	go test ./internal/study/convert -limit 12000 -timeout 1h
	go test ./internal/study/suggest -records 2400 -timeout 1h

# Needs the registries of npm and Python; make test runs the projects that need nothing.
ORDINARY ?= $(HOME)/.cache/obstat-ordinary
test-ordinary: node venv
	npm install --silent --no-audit --no-fund --prefix $(ORDINARY)/tools pnpm@9 yarn@1
	test -x $(ORDINARY)/tools/venv/bin/uv || { python3 -m venv $(ORDINARY)/tools/venv && $(ORDINARY)/tools/venv/bin/pip install -q uv poetry; }
	$(GO) run -C lab/ordinary . -dir $(ORDINARY)/lab -tools $(ORDINARY)/tools -v

# Needs npm and its registry once; the agents then run without a network.
test-agents: setup node
	$(GO) run -C lab/agents ./lab $(AGENTARGS)
	$(GO) run -C lab/agents ./lab -confined
	$(GO) run -C lab/agents ./lab -plugins -agents claude-code,gemini,copilot
	$(GO) run -C lab/agents ./lab -exports -agents claude-code,codex,gemini,opencode
	$(GO) run -C lab/agents ./lab -pairs $(PAIRARGS)

# make test does a few of them.
test-diff:
	$(GO) test -count=1 -timeout 1h -v ./internal/study/diff -run 'TestMutations|TestRewrites' -mutations $(MUTATIONS) -seed $(SEED)

# docs/contributing/mutation.md has the table.
PACKAGES ?= . gate policy approval dialect/native
mutate:
	@$(GO) run -C lab/mutate . -seed $(SEED) $(PACKAGES)

# Keeps what the program CODEX answers, for make test.
CODEX ?= codex
record-codex:
	$(GO) test -count=1 ./dialect/codex -run TestRecord -codex $(CODEX)

# The same of Gemini CLI, which is a package of npm; needs node.
GEMINI ?= node_modules/@google/gemini-cli
record-gemini: node
	$(GO) test -count=1 ./dialect/gemini -run TestRecord -gemini $(abspath $(GEMINI))/bundle

# Thousands of commands are run confined and taken back, and the tree compared; CASES names files of recorded calls.
VARIATIONS ?= 5000
test-undo:
	$(GO) test -count=1 -timeout 3h -v ./internal/guard/undo -run TestVariations -args -variations $(VARIATIONS) -cases "$(CASES)"

# Runs as root once, to make LAB; make test replays what was seen and needs none of it.
test-attacks:
	$(GO) test -v -count=1 -timeout 3h -run 'TestAttacks|TestCases|TestAsPlainUser|TestAtLevelFiles' ./internal/guard/confined/attack -attacks.all \
		$(if $(HARM),-attacks.harm $(abspath $(HARM))) | grep -E '^(---|ok|FAIL)|attacks did|--- FAIL'
	$(GO) test -v -count=1 -timeout 1h -run 'TestAttacks|TestAsPlainUser' ./confine | grep -E '^(---|ok|FAIL)|attacks did|--- FAIL'

test-effects:
	sh effect/lab/rootfs.sh $(LAB)
	$(GO) test -count=1 -timeout 2h ./effect -run TestLab -v -lab $(LAB) $(LABARGS)

node:
	@command -v npm >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm; \
		else echo "npm is missing: install node 20 or newer"; exit 1; fi; \
	}
