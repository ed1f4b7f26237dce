"""The examples of the documents of Chorus, JiuwenSwarm and opencode, as `docs/frameworks/NAME-document.md` has them."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from obstat_sdk import Call, Client
from obstat_sdk.adapters.chorus import Audit, Decision, Gatekeeper, PermissionEngine, PermissionProfile, Question, Reply
from suite.server import Server

PAGES = Path(__file__).resolve().parents[3] / "docs/frameworks"
DIALECTS = {
    "chorus-document": ("chorus", "config.json", "off"),
    "jiuwenswarm-document": ("jiuwen", "config.yaml", "off"),
    "opencode-document": ("opencode", ".opencode/config.json", "off"),
    "arguments": ("claudecode", ".claude/settings.json", "on"),
}


def blocks(name: str) -> list[tuple[str, str]]:
    """The language and the text of each example."""
    return re.findall(r"```(\w*)\n(.*?)```", (PAGES / f"{name}.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("name", DIALECTS)
def test_calls(shared: Server, tmp_path: Path, name: str) -> None:
    dialect, file, floor = DIALECTS[name]
    config, ran = "", 0
    for language, text in blocks(name):
        if language == "json":
            config = text
        for line in text.splitlines() if language == "calls" else ():
            call, _, want = line.rpartition(" -> ")
            tool, _, args = call.partition(" ")
            policy = {"dialect": dialect, "files": [{"name": file, "text": config}], "options": {"floor": floor}}
            said = Client(shared.address).decide_by(policy, Call(tool, json.loads(args), dir=str(tmp_path)))
            assert said["verdict"] == want, (line, said["reason"])
            ran += 1
    assert ran >= 10


def test_opencode_rules(shared: Server, tmp_path: Path) -> None:
    """The rules of the document's first example, as its array format; a value that two rules match is the first one's."""
    found = [t for language, t in blocks("opencode-document") if language == "typescript"]
    rules = [dict(re.findall(r"(\w+): \"([^\"]*)\"", row)) for row in re.findall(r"\{[^{}]*\}", found[0])]
    assert len(rules) == 4 and rules[3]["pattern"] == "**/node_modules/**"
    policy = {"dialect": "opencode", "files": [{"name": ".opencode/config.json", "text": json.dumps({"permissions": rules})}], "options": {"floor": "off"}}
    edit = {"filePath": "node_modules/a/b.js", "oldString": "a", "newString": "b"}
    for tool, args, want in (("read", {"filePath": "a.txt"}, "allow"), ("bash", {"command": "ls"}, "ask"), ("edit", edit, "deny")):
        assert Client(shared.address).decide_by(policy, Call(tool, args, dir=str(tmp_path)))["verdict"] == want, tool


def test_chorus_presets(shared: Server) -> None:
    engine = PermissionEngine(server=shared.address, workspace="/srv/ws", floor="off")
    actions = next(t for _, t in blocks("chorus-document") if t.startswith("tool:create_file")).split("\n")
    presets = [t for language, t in blocks("chorus-document") if language == "python"]
    assert len(presets) == 3 and len(actions) > 10
    for name, text in zip(("open", "standard", "locked"), presets, strict=True):
        names: dict[str, Any] = {"PermissionProfile": PermissionProfile}
        profile = eval(text, names)  # noqa: S307
        for action in filter(None, actions):
            assert engine.check(engine.resolve_profile(name), action) is engine.check(profile, action), (name, action)
    assert engine.check(engine.resolve_profile("standard"), "tool:bash:npm test") is Decision.ASK


def test_chorus_prompt_and_rows(shared: Server) -> None:
    """The document's prompt, and the rows of its audit table but for the time."""
    texts = [t for language, t in blocks("chorus-document") if not language]
    prompt = next(t for t in texts if t.startswith("Agent wants"))
    shown = Question(agent="frontend", action="tool:bash:rm -rf node_modules && npm install", user="12345", timeout=60)
    assert shown.text == prompt.strip()
    rows = [[c.strip() for c in line.strip("| ").split("|")] for line in next(t for t in texts if "agent_name" in t).splitlines()[2:]]
    db = sqlite3.connect(":memory:")
    replies = {"tool:git:push origin main": True, "tool:bash:rm -rf /": False}
    engine = PermissionEngine(server=shared.address, workspace="/srv/ws", floor="off")

    async def ask(question: Question) -> Reply:
        return Reply(user="12345", approve=replies[question.action])

    async def run() -> None:
        for agent, _, action, decision, user, *_ in rows:
            profile = PermissionProfile(["tool:bash:npm test"], ["tool:.*"])
            if decision == "deny":
                profile = engine.resolve_profile("locked")
            await Gatekeeper(engine, Audit(db), ask).check(profile, action, agent=agent, user=user)

    asyncio.run(run())
    got = [list(r) for r in db.execute("SELECT agent_name, action_string, decision, user_id FROM audit_log")]
    assert got == [[r[0], r[2], r[3], r[4]] for r in rows]
