#!/bin/sh
# trusted.sh tells whether obstat makes tokens for the process that runs the tests: not where that
# process was left behind by the one that started it, as an agent's would be. Then it says so.
dir=$(mktemp -d)
words=$(OBSTAT_TRUST=$dir sh -c 'unset OBSTAT_TRUST; "$0" token create --json --person ann --store "$1/obstat.db"; exit $?' "$OBSTAT_BIN" "$dir" 2>&1)
code=$?
rm -rf "$dir"
case $words in
*"has ended"*)
	echo "skipped, for obstat makes no tokens below a process that was left behind: $words"
	exit 1
	;;
esac
[ $code = 0 ] || echo "$words"
exit 0
