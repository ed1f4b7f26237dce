"""Moves a program to obstat: `python -m suite.migrations agentscope` runs `migrations/NAME/before.py` with the original and
`after.py` with the drop-in, each in a process of its own, and compares what they print.

At most five lines may differ between the two programs, and of their output the lines that are listed here with their reason.
"""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from pathlib import Path

from .server import Server

HERE = Path(__file__).resolve().parent.parent / "migrations"
MOST = 5

DIFFERS = {
    "agentscope": {
        "ls; rm notes -> denied": "every command of a line is judged",
        "sh -c 'rm notes' -> denied": "and what a shell is given to run",
    },
    "adk_fluent": {},
    "jiuwenswarm": {"bash env A=1 git push origin main -> deny": "a wrapper does not hide the command"},
    "chorus": {
        "tool:bash:npm i; rm -rf x -> ask": "every command of a line is judged",
        "tool:git:push origin HEAD:main -> deny": "a refspec is no branch's name",
    },
}


def ran(program: Path, server: Server) -> list[str]:
    """Returns what a program prints."""
    env = {**os.environ, "OBSTAT_SERVER": server.address, "PYTHONWARNINGS": "ignore"}
    out = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True, check=False)
    if out.returncode:
        raise SystemExit(f"{program}: {out.stderr[-2000:]}")
    return [line for line in out.stdout.splitlines() if " | common | " not in line]


def main() -> None:
    """Compares, and prints how many lines change and what differs."""
    name = sys.argv[1].replace("-", "_")
    one, two = (HERE / name / f"{when}.py" for when in ("before", "after"))
    edits = [d for d in difflib.ndiff(one.read_text().splitlines(), two.read_text().splitlines()) if d[:2] in ("- ", "+ ") and d[2:].strip()]
    lines = max(sum(d[0] == sign for d in edits) for sign in "-+")
    server = Server(policy='{"permission": {"*": "deny"}}')  # which is not asked
    try:
        was, now = ran(one, server), ran(two, server)
    finally:
        server.close()
    other = [b for a, b in zip(was, now, strict=True) if a != b]
    print(f"  {name}: {lines} lines change, {len(now) - len(other)} of {len(now)} lines of output are equal" + "".join(f"\n    {x}" for x in other))
    if lines > MOST or not was or sorted(other) != sorted(DIFFERS[name]):
        raise SystemExit(f"{lines} lines change, and this differs: {list(zip(was, now, strict=True))}")


if __name__ == "__main__":
    main()
