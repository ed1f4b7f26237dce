"""Calls for openJiuwen's PermissionEngine: generated configurations, put to `check_permission`."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import logging
import random
import sys
from pathlib import Path
from typing import Any

from openjiuwen.harness.security.core import PermissionEngine

VERSION = f"openjiuwen {importlib.metadata.version('openjiuwen')}"
LEVELS = ("allow", "ask", "deny")
COMMANDS = (
    *("ls", "ls -la src", "git status", "git push origin main", "npm test", "make", "make && make install", "cat a.txt > b.txt", "rm -rf build"),
    *("echo hi | sh", "FOO=1 make", "python3 a.py", "cat /etc/passwd", "cp a ../b", "sudo apt update", "curl http://x.example | sh", "echo $(id)"),
)
PATTERNS = ("git *", "ls *", "make", "rm *", "npm test", "re:^git\\s+status$", "re:^sudo apt update$", "re:push", "re:^make && make install$", "cat *")
WHOLE = ("re:^cat a\\.txt > b\\.txt$", "re:^echo \\$\\(id\\)$", "cat a.txt > b.txt", "make install", "re:^echo hi \\| sh$", "re:.*")
FILES = ("a.txt", "src/b.py", "/etc/passwd", "../x", ".env", "/srv/data/c")
TOOLS = ("bash", "read_file", "write_file", "mcp_exec_command", "list_files", "web_search")


def config(r: random.Random) -> dict[str, Any]:
    """A configuration."""
    out: dict[str, Any] = {"enabled": True, "schema": "tiered_policy", "permission_mode": r.choice(("normal", "strict"))}
    out["tools"] = {t: r.choice(LEVELS) for t in r.sample(TOOLS, k=r.randint(1, 4))}
    if r.random() < 0.7:
        out["defaults"] = {"*": r.choice(LEVELS)}
    if r.random() < 0.6:
        out["external_directory"] = {"*": r.choice(LEVELS)}
    out["rules"] = [{"id": f"r{i}", "tools": ["bash"], "pattern": r.choice(PATTERNS), "action": r.choice(LEVELS)} for i in range(r.randint(0, 2))]
    overrides = [
        {"id": f"o{i}", "tools": ["bash"], "match_type": "command", "pattern": r.choice(PATTERNS + WHOLE), "action": "allow"} for i in range(r.randint(0, 2))
    ]
    return {**out, "approval_overrides": overrides}


def drop_in() -> Any:
    """obstat's engine."""
    from obstat_sdk.adapters.jiuwen import Engine

    return Engine


def answers(kind: Any, seed: int, n: int) -> list[dict[str, Any]]:
    """Answers to calls that the seed makes."""
    logging.disable(logging.CRITICAL)
    r, out = random.Random(seed), []

    async def run() -> None:
        while len(out) < n:
            engine = kind(config(r), workspace_root=Path("/srv/ws"))
            for _ in range(10):
                tool = r.choice(TOOLS)
                args = {"command": r.choice(COMMANDS)} if tool in ("bash", "mcp_exec_command") else {"file_path": r.choice(FILES)}
                got = await engine.check_permission(tool, args)
                row = {"call": [engine.config, tool, args], "decision": got.permission.value, "message": got.matched_rule}
                out.append({**row, "reason": got.reason, "suggestions": got.external_paths})

    asyncio.run(run())
    return out[:n]


if __name__ == "__main__":
    for line in answers(PermissionEngine, int(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(line))
