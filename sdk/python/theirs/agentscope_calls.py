"""Calls for AgentScope's engine: generated contexts, its own tools, and tools with checks of their own."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import agentscope
from agentscope.permission import PermissionBehavior, PermissionContext, PermissionDecision, PermissionEngine, PermissionMode
from agentscope.tool import Bash, Edit, FunctionTool, Glob, Grep, Read, ToolBase, Write

VERSION = f"agentscope {agentscope.__version__}"

WORDS = [
    "git",
    "ls",
    "cat",
    "npm",
    "rm",
    "mkdir",
    "touch",
    "cp",
    "mv",
    "sed",
    "echo",
    "find",
    "grep",
    "docker",
    "pip",
    "python",
    "make",
    "curl",
    "tee",
    "chmod",
    "env",
    "sudo",
    "xargs",
    "head",
]
AFTER = [
    "status",
    "log -1",
    "push",
    "commit -m fix",
    "run build",
    "install x",
    "-rf build",
    "-la",
    "a b",
    "src/a.py",
    ". -name x",
    "ps",
    "list",
    "-c 'print(1)'",
    "-i s/a/b/ x",
    "/etc/passwd",
    "~/.bashrc",
]
LINKS = (" && ", " ; ", " | ", " || ", " & ")
PATHS = ("src/a.py", "a.txt", "/etc/passwd", "~/.bashrc", ".env", ".git/config", "/srv/app/x", "src/deep/b.py", "../out", "sub/.ssh/id_rsa")
CONTENTS: dict[str, tuple[str | None, ...]] = {
    "Bash": ("git:*", "npm run:*", "rm:*", "git push:*", "ls", "make *", "*", "docker ps", None, "sudo:*", "find:*"),
    "Read": ("src/**", "/etc/**", "*.py", None, "a.txt"),
    "Write": ("src/**", "**", "/srv/**", None, "**/.env"),
    "Edit": ("src/**", "**/*.py", None),
    "Glob": ("src/**", "*.py", None),
    "Grep": ("/srv/**", "src", None),
    "Deploy": ("prod", "dev", None),
    "note": (None, '{"text": "a"}'),
}


class Deploy(ToolBase):
    """The document's custom tool, with rules of its own."""

    name = "Deploy"
    description = "Deploys."
    input_schema: dict[str, Any] = {"type": "object", "properties": {}}  # noqa: RUF012
    is_concurrency_safe = True
    is_read_only = False

    async def check_read_only(self, tool_input: dict[str, Any]) -> bool:
        """Tells whether it only looks."""
        return tool_input.get("operation") in {"list", "describe", "get"}

    async def match_rule(self, rule_content: str | None, tool_input: dict[str, Any]) -> bool:
        """A rule is the beginning of a target."""
        return rule_content is None or str(tool_input.get("target", "")).startswith(rule_content)

    async def check_permissions(self, tool_input: dict[str, Any], context: Any) -> Any:
        """Asks before anything touches production."""
        target = str(tool_input.get("target", ""))
        if target.startswith("prod-"):
            words = f"Operation targets production resource: {target}"
            return PermissionDecision(behavior=PermissionBehavior.ASK, message=words, decision_reason="Safety check: production", bypass_immune=True)
        if target == "gone":
            return PermissionDecision(behavior=PermissionBehavior.DENY, message="gone", decision_reason="there is no such target")
        if target == "own":
            return PermissionDecision(behavior=PermissionBehavior.ALLOW, message="own target", decision_reason="it is ours")
        return PermissionDecision(behavior=PermissionBehavior.PASSTHROUGH, message="")


def note(text: str) -> str:
    """Notes."""
    return text


def tools() -> dict[str, Any]:
    """The tools that are called."""
    return {t.name: t for t in (Bash(), Read(), Write(), Edit(), Glob(), Grep(), Deploy(), FunctionTool(note))}


def command(r: random.Random) -> str:
    """A line of shell."""
    out = r.choice(WORDS) + " " + r.choice(AFTER)
    while r.random() < 0.25:
        out += r.choice(LINKS) + r.choice(WORDS) + " " + r.choice(AFTER)
    return out + r.choice(("", "", "", "", " > out.txt", " $(whoami)", " 2>/dev/null"))


def given(r: random.Random, tool: str) -> dict[str, Any]:
    """The arguments of a call."""
    if tool == "Bash":
        return {"command": command(r)}
    if tool in ("Read", "Write", "Edit"):
        return {"file_path": r.choice(PATHS)}
    if tool in ("Glob", "Grep"):
        return {"pattern": r.choice(("*.py", "TODO")), **({"path": r.choice(("src", "/srv/app", "."))} if r.random() < 0.7 else {})}
    if tool == "Deploy":
        return {"operation": r.choice(("list", "delete")), "target": r.choice(("prod-db", "dev-1", "gone", "own", "other"))}
    return {"text": r.choice("ab")}


def context(r: random.Random) -> dict[str, Any]:
    """A context, as JSON."""
    out: dict[str, Any] = {"mode": r.choice([m.value for m in PermissionMode])}
    for b in ("allow", "deny", "ask"):
        names = r.sample(sorted(CONTENTS), k=r.choice((0, 1, 1, 2, 3)) if b == "allow" else r.choice((0, 0, 1, 2)))
        out[b + "_rules"] = {
            t: [{"tool_name": t, "rule_content": r.choice(CONTENTS[t]), "behavior": b, "source": "s"} for _ in range(r.choice((1, 1, 2)))] for t in names
        }
    if r.random() < 0.4:
        out["working_directories"] = {"/srv/app": {"path": "/srv/app", "source": "s"}}
    return out


def calls(seed: int, n: int) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    """The same calls in every process."""
    r = random.Random(seed)
    names = ["Bash"] * 6 + sorted(CONTENTS)
    for _ in range(n):
        tool = r.choice(names)
        yield context(r), tool, given(r, tool)


def drop_in() -> Any:
    """obstat's engine."""
    from obstat_sdk.adapters.agentscope import PermissionEngine as Mine

    return Mine


def answers(engine: Any, seed: int, n: int) -> list[dict[str, Any]]:
    """Puts the calls to an engine, in a directory that is the same for both."""
    where = Path(tempfile.gettempdir()) / f"obstat-beside-{seed}"
    (where / "src").mkdir(parents=True, exist_ok=True)
    before = os.getcwd()
    os.chdir(where)
    try:
        return asyncio.run(_answers(engine, seed, n))
    finally:
        os.chdir(before)
        (where / "src").rmdir()
        where.rmdir()


async def _answers(engine: Any, seed: int, n: int) -> list[dict[str, Any]]:
    have, out = tools(), []
    for ctx, tool, input in calls(seed, n):
        one = engine(PermissionContext.model_validate(ctx))
        d = await one.check_permission(have[tool], dict(input))
        rules = [[x.tool_name, x.rule_content] for x in d.suggested_rules or ()]
        matched = tool == "note" and any(x["rule_content"] for x in ctx["allow_rules"].get("note", ()))
        row = {"call": [ctx, tool, input], "decision": d.behavior.value, "message": d.message, "reason": d.decision_reason, "suggestions": rules}
        out.append({**row, **({"because": "json"} if matched else {})})
    return out


def main() -> None:
    """Prints the original's answers, a line each."""
    for row in answers(PermissionEngine, int(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(row))


if __name__ == "__main__":
    main()
