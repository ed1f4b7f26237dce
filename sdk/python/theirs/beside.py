"""Puts the same calls to obstat's drop-in and to the original, which runs in a process of its own:
`python -m theirs.beside agentscope 2000`.

The original's answers are asked for first. Verdict, message, reason and suggestions are compared; a verdict
that is looser than the original's is an error, unless `theirs/looser.txt` has its reason.
"""

from __future__ import annotations

import collections
import importlib
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from suite.server import Server

STRICTNESS = {"deny": 0, "ask": 1, "allow": 2}
KINDS = ("decision", "message", "reason", "suggestions")


def original(name: str, seed: int, n: int) -> list[dict[str, Any]]:
    """Returns the original's answers."""
    run = subprocess.run([sys.executable, "-W", "ignore", "-m", f"theirs.{name}_calls", str(seed), str(n)], capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(run.stderr[-2000:])
    return [json.loads(line) for line in run.stdout.splitlines()]


def main() -> None:
    """Compares, and prints how many answers are equal, stricter and looser, and of what kind."""
    name, n = sys.argv[1].replace("-", "_"), int(sys.argv[2])
    seed = int(os.environ.get("SEED", "1")) or random.randrange(1 << 30)
    calls = importlib.import_module(f"theirs.{name}_calls")
    theirs = original(name, seed, n)
    server = Server(policy='{"permission": {"*": "deny"}}')  # which is not asked
    os.environ["OBSTAT_SERVER"] = server.address
    try:
        ours = calls.answers(calls.drop_in(), seed, n)
    finally:
        server.close()
    reasons = dict(re.findall(r"^(\S+): (.+)$", (Path(__file__).parent / "looser.txt").read_text(), re.MULTILINE))
    counts: collections.Counter[str] = collections.Counter()
    kinds: collections.Counter[str] = collections.Counter()
    examples: dict[str, Any] = {}
    looser = []
    for a, b in zip(theirs, ours, strict=True):
        assert a["call"] == b["call"], "the two processes have made other calls"
        order = STRICTNESS[b["decision"]] - STRICTNESS[a["decision"]]
        counts["equal" if not order else "stricter" if order < 0 else "looser"] += 1
        if order > 0 and b.get("because") not in reasons:
            looser.append((a, b))
        for k in KINDS[1:]:
            if not order and a[k] != b[k]:
                counts[f"other {k}"] += 1
                kinds[f"{k}: {str(a['reason'])[:24]}"] += 1
                examples.setdefault(f"{k}: {str(a['reason'])[:24]}", (a, b))
        if order < 0:
            examples.setdefault("stricter", (a, b))
    print(
        f"  {calls.VERSION}, seed {seed}: {n} calls, " + ", ".join(f"{k} {v}" for k, v in sorted(counts.items())) + f", looser without a reason {len(looser)}"
    )
    if os.environ.get("EXAMPLES"):
        print("  " + ", ".join(f"{k} {v}" for k, v in kinds.most_common(30)))
    for k, (a, b) in examples.items() if os.environ.get("EXAMPLES") else ():
        print(f"  {k}\n    {json.dumps(a)[:700]}\n    {json.dumps(b)[:700]}")
    if looser:
        raise SystemExit("\n".join(f"looser: {a}\n     is {b}" for a, b in looser[:5]))


if __name__ == "__main__":
    main()
