"""Runs the same scripted calls without and with obstat, under each of a framework's own modes and
rules: what runs with obstat is among what runs without it. The one exception: the framework asks
because nothing says anything, and a rule of obstat's allows the call.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .cases import PAY, Use, World
from .server import POLICY, Server

FILE = Path(__file__).resolve().parent.parent / "never-looser.json"
OUTCOMES = ("refused", "asked", "ran")
SILENT = ("none", "read-only", "mutating")
"""Rules that say nothing of whether a call may run: a framework that asks then asks for want of a rule."""
CALLS: list[Use] = [("safe", {"x": 1}), PAY, ("wipe", {"path": "/"})]
POLICIES = {"allows all": json.dumps({"permission": {"*": "allow"}}), "allows, asks, denies": POLICY}


def looser(row: dict[str, str]) -> bool:
    """Tells whether a call ran with obstat only, and not as the exception has it."""
    if row["with"] != "ran" or row["without"] == "ran":
        return False
    allowed = row["policy"] == "allows all" or row["call"] == "safe"
    return not (row["without"] == "asked" and row["rule"] in SILENT and allowed)


def rows(module: Any, version: str) -> list[dict[str, str]]:
    """Tries every mode, rule and call of a framework."""
    out: list[dict[str, str]] = []
    for policy, text in POLICIES.items():
        server = Server(policy=text)
        try:
            for mode, rule in module.MODES:
                for call in CALLS:
                    without, guarded = (module.attempt(World(server, own), mode, rule, call) for own in (True, False))
                    row = {"framework": module.PACKAGE, "version": version, "mode": mode, "rule": rule, "call": call[0]}
                    out.append({**row, "policy": policy, "without": without, "with": guarded})
        finally:
            server.close()
    return out


def keep(found: list[dict[str, str]]) -> None:
    """Writes a framework's rows into the file of all."""
    mine = {(r["framework"], r["version"]) for r in found}
    others = [r for r in json.loads(FILE.read_text()) if (r["framework"], r["version"]) not in mine] if FILE.exists() else []
    all = sorted([*others, *found], key=lambda r: (r["framework"], r["version"]))
    FILE.write_text("[\n" + ",\n".join(json.dumps(r) for r in all) + "\n]\n")


def check(module: Any, version: str, update: bool) -> list[str]:
    """Returns what is wrong: a call that is looser, or a row that is not as it was kept."""
    found = rows(module, version)
    wrong = [f"looser with obstat: {r}" for r in found if looser(r)]
    counts = {w: sum(r["without"] == w for r in found) for w in OUTCOMES}
    print(f"  never looser: {len(found)} pairs, without obstat {counts}, looser with it {len(wrong)}")
    if update:
        keep(found)
        return wrong
    kept = [r for r in json.loads(FILE.read_text()) if (r["framework"], r["version"]) == (module.PACKAGE, version)]
    if kept != found:
        wrong += [f"never-looser.json has {was}, and it was {now}" for was, now in zip(kept, found, strict=False) if was != now][:5] or [
            "never-looser.json has other rows"
        ]
    return wrong
