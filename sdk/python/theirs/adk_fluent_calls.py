"""Calls for adk-fluent's policies: generated ones, merged, put to the plugin with a handler and a memory."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import random
import sys
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import adk_fluent
from adk_fluent import ApprovalMemory
from adk_fluent._permissions._mode import ALL_MODES

VERSION = f"adk-fluent {importlib.metadata.version('adk-fluent')}"

TOOLS = [
    "bash",
    "read_file",
    "write_file",
    "edit_file",
    "grep",
    "list_dir",
    "search_web",
    "get_secret",
    "delete_file",
    "deploy",
    "web_fetch",
    "run_command",
    "notes",
]
GLOBS = ("read_*", "*secret*", "*_file", "list_?ir", "web_*", "[gs]*", "*")
REGEX = ("read_.*", ".*secret.*", r"\w+_file", "(bash|grep)", "web_(fetch|search)")


def policy(kind: Any, r: random.Random) -> Any:
    """A policy."""
    mode = r.choice(("glob", "glob", "regex"))
    patterns = GLOBS if mode == "glob" else REGEX
    names = {k: frozenset(r.sample(TOOLS, k=r.choice((0, 1, 2)))) for k in ("allow", "deny", "ask")}
    lists = {f"{k}_patterns": tuple(r.sample(patterns, k=r.choice((0, 0, 1)))) for k in ("allow", "deny", "ask")}
    more = {"mutating_tools": frozenset(r.sample(TOOLS, k=3))} if r.random() < 0.2 else {}
    out = kind(mode=r.choice(sorted(ALL_MODES)), pattern_mode=mode, **names, **lists, **more)
    if r.random() < 0.3:  # of the same kind of patterns: the original changes what the others mean
        other = kind(deny=frozenset(r.sample(TOOLS, k=1)), allow=frozenset(r.sample(TOOLS, k=2)), pattern_mode=mode)
        out = out.merge(other)
    return out.with_mode(r.choice(sorted(ALL_MODES))) if r.random() < 0.2 else out


def drop_in() -> Any:
    """obstat's names."""
    from obstat_sdk.adapters import adk_fluent as obstat

    return obstat


def answers(names: Any, seed: int, n: int) -> list[dict[str, Any]]:
    """Puts the calls to policies, and to a plugin with each of them."""
    r, out = random.Random(seed), []
    for _ in range(n):
        one = policy(names.PermissionPolicy, r)
        tool, args = r.choice(TOOLS), {"x": r.choice("ab")}
        handler = r.choice((None, lambda *_: True, lambda *_: False, lambda *_: 1 / 0))
        memory = r.choice((None, ApprovalMemory(), ApprovalMemory()))
        if memory is not None and r.random() < 0.3:
            memory.remember_specific(tool, args, r.random() < 0.5)
        d = one.check(tool, dict(args))
        plugin = names.PermissionPlugin(one, handler=handler, memory=memory)
        told = [asyncio.run(plugin.before_tool_callback(tool=SimpleNamespace(name=tool), tool_args=dict(args), tool_context=None)) for _ in range(2)]
        row = {
            "call": [{f.name: sorted(v) if isinstance(v := getattr(one, f.name), frozenset) else v for f in fields(adk_fluent.PermissionPolicy)}, tool, args],
            "decision": d.behavior,
            "message": [d.reason, d.prompt],
            "reason": told,
            "suggestions": [],
        }
        out.append(json.loads(json.dumps(row)))
    return out


def main() -> None:
    """Prints the original's answers, a line each."""
    for row in answers(adk_fluent, int(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(row))


if __name__ == "__main__":
    main()
