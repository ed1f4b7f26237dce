#!/bin/sh
# Checks the policy files of the repository in the current directory, for action.yml and any other CI:
# each is valid, and none is looser than at the base. Findings are GitHub's workflow commands, which
# are plain lines elsewhere. Exit code 1 where something has to be mended, 2 where it cannot be told.
#
#   OBSTAT_FILES         policy files, one a line; default: those that the repository has
#   OBSTAT_BASE          branch or revision to compare with; default: nothing is compared
#   OBSTAT_STRICT        true: warnings fail as well
#   OBSTAT_ALLOW_LOOSER  true: a looser policy is told and does not fail
#   OBSTAT_SARIF         directory that gets the findings as SARIF files
#   OBSTAT               the obstat to use; default: the one on PATH, else one built from this source
set -euf

names='(^|/)(obstat\.yaml|\.obstat/program\.json|\.claude/settings\.json|opencode\.jsonc?|\.codex/rules/[^/]*\.rules|\.gemini/policies/[^/]*\.toml|\.cursor/(cli|permissions)\.json|\.qwen/settings\.json|\.vscode/settings\.json|\.github/copilot/settings\.json|adk-permissions\.(json|yaml)|permission_context\.json)$'
newline='
'

fail() { echo "::error title=obstat::$*"; exit 2; }

obstat=${OBSTAT:-$(command -v obstat || true)}
if [ -z "$obstat" ]; then
	command -v go >/dev/null || fail "obstat is not installed, and there is no Go to build it with"
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	obstat=$tmp/obstat
	CGO_ENABLED=0 go build -C "$(dirname "$0")/.." -trimpath -o "$obstat" ./cmd/obstat || fail "obstat could not be built"
fi

git rev-parse --git-dir >/dev/null 2>&1 || fail "this is no git repository"

# A shallow checkout has no base: the branch's tip is fetched then.
base=
if [ -n "${OBSTAT_BASE:-}" ]; then
	for at in "origin/$OBSTAT_BASE" "$OBSTAT_BASE"; do
		if git rev-parse --quiet --verify --end-of-options "$at^{commit}" >/dev/null; then base=$at; break; fi
	done
	if [ -z "$base" ]; then
		git fetch --quiet --depth=1 origin "$OBSTAT_BASE" || fail "the base $OBSTAT_BASE cannot be fetched"
		base=$(git rev-parse FETCH_HEAD)
	fi
	# Rules that the base got meanwhile are no change of this branch.
	base=$(git merge-base "$base" HEAD 2>/dev/null || git rev-parse "$base")
fi

files=${OBSTAT_FILES:-}
if [ -z "$files" ]; then
	files=$({
		git -c core.quotepath=off ls-files
		if [ -n "$base" ]; then git -c core.quotepath=off ls-tree -r --name-only "$base"; fi
	} | sort -u | grep -E "$names" || true)
fi
if [ -z "$files" ]; then
	echo "::warning title=obstat::no policy file was found; obstat init writes one"
	exit 0
fi

IFS=$newline
set --
there=
for f in $files; do
	set -- "$@" "$f"
	if [ -e "$f" ]; then there=$there$f$newline; fi
done

code=0
strict=
if [ "${OBSTAT_STRICT:-false}" = true ]; then strict=--strict; fi
if [ -n "$there" ]; then
	"$obstat" policy validate $strict --format github $there || code=1
fi
if [ -n "$base" ]; then
	looser=0
	"$obstat" policy diff --against "$base" --format github "$@" || looser=$?
	case $looser in
	0) ;;
	3) if [ "${OBSTAT_ALLOW_LOOSER:-false}" != true ]; then code=1; fi ;;
	*) code=1 ;;
	esac
fi
if [ -n "${OBSTAT_SARIF:-}" ]; then
	mkdir -p "$OBSTAT_SARIF"
	if [ -n "$there" ]; then "$obstat" policy validate --format sarif $there >"$OBSTAT_SARIF/validate.sarif" || true; fi
	if [ -n "$base" ]; then "$obstat" policy diff --against "$base" --format sarif "$@" >"$OBSTAT_SARIF/diff.sarif" || true; fi
fi
exit $code
