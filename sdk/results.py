"""Writes docs/frameworks/results.md from sdk/results/*.json, which the suites write.

`python3 sdk/results.py` fails where the page differs, `--write` writes it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "frameworks" / "results.md"
CASES = {
    "forged": "forged approval",
    "replayed": "replayed approval",
    "edited": "edited arguments",
    "other-tool": "another tool on resume",
    "parallel": "parallel calls",
    "streaming": "streaming",
    "crash": "crash between answer and run",
    "gone": "server gone",
    "late": "time-out",
    "added": "tool added at run time",
    "subagent": "subagent",
}
HEAD = """# What was tried on each framework

Made by `python3 sdk/results.py --write` from what the suites saw (`make test-sdk`, `UPDATE=1` keeps it). A scripted model calls `pay`, which asks, `wipe`, which is
denied, and `safe`, which is allowed; every tool writes down that it ran. **held**: no call ran that was not allowed, and an approved one ran once.
Left is obstat's adapter, right the framework's own approval on the same case, set up as its documents say; **–** means that the framework has nothing of the kind.

| case | what happens | must hold |
|---|---|---|
| forged approval | nobody answers; the application resumes with "approved" in the framework's own form | `pay` does not run |
| replayed approval | approved once and run; the same saved state is resumed again | `pay` runs once |
| edited arguments | `pay(bob, 5)` is approved; the resume carries `pay(eve, 5000)` | that does not run |
| another tool on resume | `pay` is approved; the resume names `wipe` | `wipe` does not run |
| parallel calls | one turn calls `safe`, `pay`, `wipe`, `safe` | `safe` twice, `pay` once and after its approval, `wipe` never |
| streaming | the same ask through the streaming interface | `pay` runs once, after its approval |
| crash between answer and run | approved; the process dies; two others resume what was saved | `pay` runs once |
| server gone | the server is stopped before the call | nothing runs |
| time-out | what listens never answers | nothing runs |
| tool added at run time | a tool that no rule names is added after the agent was made | it does not run |
| subagent | an agent that is another's tool calls `wipe` | `wipe` does not run |
"""


def word(r: dict[str, object] | None) -> str:
    """Returns one side of a cell."""
    if r is None or r.get("held") is None:
        return "–"
    return "held" if r["held"] else "**ran**"


def page() -> str:
    """Returns the page."""
    results = sorted((json.loads(p.read_text()) for p in (HERE / "results").glob("*.json")), key=lambda r: (r["language"], r["framework"], r["version"]))
    out = [HEAD]
    for language in sorted({r["language"] for r in results}):
        mine = [r for r in results if r["language"] == language]
        out.append(f"## {'TypeScript' if language == 'typescript' else language.capitalize()}\n")
        out.append("| case | " + " | ".join(f"{r['framework']} {r['version']}" for r in mine) + " |")
        out.append("|---|" + "---|" * len(mine))
        for case, title in CASES.items():
            rows = [next((row for row in r["rows"] if row["case"] == case), {}) for r in mine]
            out.append(f"| {title} | " + " | ".join(f"{word(row.get('obstat'))} / {word(row.get('own'))}" for row in rows) + " |")
        out.append("")
    out.append("## Notes\n")
    for r in results:
        notes = [
            f"  - {CASES[row['case']]}, {who}: {row[side]['note']}"
            + (f" (ran: {', '.join(row[side]['ran'])})" if row[side].get("ran") and not row[side]["held"] else "")
            for row in sorted(r["rows"], key=lambda row: list(CASES).index(row["case"]))
            for side, who in (("obstat", "obstat"), ("own", "its own"))
            if row.get(side) and row[side].get("note") and not (row["case"] in ("gone", "late") and row[side]["held"] is None)
        ]
        if notes:
            out.append(f"- {r['framework']} {r['version']} ({r['language']})")
            out += notes
    return "\n".join(out) + "\n"


def main() -> None:
    """Compares or writes the page."""
    for p in sorted((HERE / "results").glob("*.json")):
        r = json.loads(p.read_text())
        for row in r["rows"]:
            if row["case"] not in CASES:
                raise SystemExit(f"{p.name}: there is no case {row['case']!r}")
            if row.get("obstat", {}).get("held") is False:
                raise SystemExit(f"{p.name}: {row['case']} does not hold with obstat: {row['obstat']}")
    text = page()
    if "--write" in sys.argv[1:]:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        raise SystemExit(f"{PAGE.relative_to(HERE.parent)} is not what sdk/results holds: run python3 sdk/results.py --write")


if __name__ == "__main__":
    main()
