"""The examples of the documents of Chorus, JiuwenSwarm and opencode, as `docs/frameworks/NAME-document.md` has them."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
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


def opencode_rules() -> list[dict[str, str]]:
    """The rules of the document's first example."""
    text = next(t for _, t in blocks("opencode-document") if t.startswith("const rules"))
    rules = [dict(re.findall(r"(\w+): \"([^\"]*)\"", row)) for row in re.findall(r"\{[^{}]*\}", text)]
    assert len(rules) == 4 and rules[3]["pattern"] == "**/node_modules/**"
    return rules


def test_opencode_rules(shared: Server, tmp_path: Path) -> None:
    """The rules of the document's first example, as its array format; a value that two rules match is the first one's."""
    rules = opencode_rules()
    policy = {"dialect": "opencode", "files": [{"name": ".opencode/config.json", "text": json.dumps({"permissions": rules})}], "options": {"floor": "off"}}
    edit = {"filePath": "node_modules/a/b.js", "oldString": "a", "newString": "b"}
    for tool, args, want in (("read", {"filePath": "a.txt"}, "allow"), ("bash", {"command": "ls"}, "ask"), ("edit", edit, "deny")):
        assert Client(shared.address).decide_by(policy, Call(tool, args, dir=str(tmp_path)))["verdict"] == want, tool


def test_opencode_python(shared: Server, tmp_path: Path) -> None:
    """The document's Python program, and the drop-in's verdict where it denies, asks or runs. Of a file's name both see the
    same; a path with a slash is the difference between fnmatch and minimatch."""
    code = next(t for language, t in blocks("opencode-document") if language == "python")
    asked, replies, ran = [], {}, []

    async def prompt(*, pattern: str, **_: Any) -> str:
        asked.append(pattern)
        return replies.get(pattern, "allow")

    def run(command: str, **_: Any) -> Any:
        ran.append(command)
        return SimpleNamespace(stdout=b"", returncode=0)

    names: dict[str, Any] = {"ToolContext": object, "ToolResult": dict, "show_permission_prompt": prompt, "subprocess": SimpleNamespace(run=run)}
    exec(compile(code, "opencode-document.md", "exec"), names)  # noqa: S102
    rules = [*opencode_rules(), {"permission": "bash", "pattern": "rm *", "action": "deny"}]
    rules.reverse()  # the most specific first
    policy = {"dialect": "opencode", "files": [{"name": ".opencode/config.json", "text": json.dumps({"permissions": rules})}], "options": {"floor": "off"}}
    ruleset = names["merge"]([names["PermissionRule"](**r) for r in rules], [])
    edit = {"oldString": "a", "newString": "b"}
    calls = [("read", {"filePath": n}, n) for n in (".env", "a.env", "a.txt")] + [("bash", {"command": c}, c) for c in ("ls", "rm x", "rmdir x")]
    for tool, args, value in [*calls, ("edit", {"filePath": "a.txt", **edit}, "a.txt"), ("webfetch", {"url": "u"}, "u")]:
        said = Client(shared.address).decide_by(policy, Call(tool, args, dir=str(tmp_path)))["verdict"]
        assert said == names["evaluate"](tool, value, ruleset)[0], (tool, value)
    replies.update({"make": "allow_always", "git push": "deny"})
    tool, ctx = names["BashTool"](), SimpleNamespace(agent=SimpleNamespace(permissions=ruleset), session_id="s")
    for command in ("ls", "make", "make"):
        asyncio.run(tool.execute({"command": command}, ctx))
    for command in ("rm x", "git push"):
        with pytest.raises(names["PermissionError"]):
            asyncio.run(tool.execute({"command": command}, ctx))
    assert ran == ["ls", "make", "make"] and asked == ["ls", "make", "git push"]


def chorus_profiles() -> dict[str, str]:
    """The profiles of the document, as arguments of PermissionProfile: presets, the custom one, the catch-all, each pattern."""
    all = [t for language, t in blocks("chorus-document") if language == "python"]
    out = {f"preset {n}": t.removeprefix("PermissionProfile") for n, t in enumerate(all) if t.startswith("PermissionProfile(")}
    out["catch-all"] = "(" + next(t for t in all if t.startswith("allow=")) + ")"
    custom = next(json.loads(t) for language, t in blocks("chorus-document") if language == "json")["permissions"]
    out["custom"] = f"(allow={custom['allow']!r}, ask={custom['ask']!r})"
    found = re.findall(r'^("tool:.*?") +#', next(t for t in all if t.startswith("# Match a specific")), re.MULTILINE)
    assert len(out) == 5 and len(found) == 14
    return out | {p: f"(allow=[r{p}], ask=[])" for p in found}


def test_chorus_engine(shared: Server) -> None:
    """The document's own engine and profile, run as they stand, and the drop-in: equal answers to every action of the page."""
    all = [t for language, t in blocks("chorus-document") if language == "python"]
    names: dict[str, Any] = {"dataclass": dataclass, "Decision": Decision}
    for start in ("@dataclass", "class PermissionEngine"):
        exec(compile(next(t for t in all if t.startswith(start)), "chorus-document.md", "exec"), names)  # noqa: S102
    actions = [a for a in next(t for _, t in blocks("chorus-document") if t.startswith("tool:create_file")).split("\n") if a]
    actions += ["tool:create_file:src/main.py", "tool:create_file:src/mainxpy", "tool:str_replace:tests/a.py", "tool:str_replace:tests/a.js"]
    actions += [
        "tool:bash:python a.py",
        "tool:bash:tail log",
        "tool:bash:git log",
        "tool:bash:git push",
        "tool:git:push origin dev",
        "tool:git:push origin mainline",
    ]
    mine, theirs, seen = PermissionEngine(server=shared.address, workspace="/srv/ws", floor="off"), names["PermissionEngine"](), set()
    for name, text in chorus_profiles().items():
        profile, plain = (eval(f"P{text}", {"P": p}) for p in (PermissionProfile, names["PermissionProfile"]))  # noqa: S307
        plain.allow_compiled, plain.ask_compiled = ([re.compile(p) for p in list] for list in (plain.allow, plain.ask))
        for action in actions:
            if action.startswith("tool:self_edit:permissions:"):
                continue  # the roles of the user count as well
            want = theirs.check(plain, action)
            assert mine.check(profile, action) is want, (name, action)
            seen.add((name, want))
    assert all_patterns_decide(seen)


def all_patterns_decide(seen: set[tuple[str, Decision]]) -> bool:
    """Tells whether every pattern allows some action of the page, so that none is compared in vain."""
    return all((name, Decision.ALLOW) in seen for name in chorus_profiles())


def test_chorus_presets(shared: Server) -> None:
    engine = PermissionEngine(server=shared.address, workspace="/srv/ws", floor="off")
    actions = next(t for _, t in blocks("chorus-document") if t.startswith("tool:create_file")).split("\n")
    presets = [t for _, t in blocks("chorus-document") if t.startswith("PermissionProfile(")]
    assert len(presets) == 3 and len(actions) > 10
    for name, text in zip(("open", "standard", "locked"), presets, strict=True):
        names: dict[str, Any] = {"PermissionProfile": PermissionProfile}
        profile = eval(text, names)  # noqa: S307
        found = engine.resolve_profile(name)
        assert (list(found.allow), list(found.ask)) == (profile.allow, profile.ask), name
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
