"""Chorus: the document's tables and examples, its flow around a call, and its engine beside ours."""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from obstat_sdk import Call, Client
from obstat_sdk.adapters import chorus
from obstat_sdk.adapters.chorus import Audit, Decision, Gatekeeper, InvalidProfileError, PermissionEngine, PermissionProfile, Question, Reply
from suite import bad
from suite.server import Server, binary

CUSTOM = {
    "allow": ["tool:view:.*", "tool:create_file:docs/.*", "tool:str_replace:docs/.*", "tool:self_edit:docs:.*"],
    "ask": ["tool:bash:.*", "tool:create_file:.*", "tool:str_replace:.*"],
}
PRESETS = {
    "open": (["tool:.*"], []),
    "standard": (
        ["tool:create_file:.*", "tool:str_replace:.*", "tool:view:.*", "tool:git:init", "tool:git:commit", "tool:git:branch .*"],
        ["tool:bash:.*", "tool:git:push .*", "tool:git:merge_request .*", "tool:self_edit:.*"],
    ),
    "locked": (["tool:view:.*"], []),
}
EXAMPLES = """tool:create_file:src/main.py
tool:str_replace:config/settings.yaml
tool:view:README.md
tool:bash:npm install
tool:bash:rm -rf node_modules
tool:bash:curl https://example.com/api
tool:git:push origin main
tool:git:push origin feature/auth
tool:git:branch feature/new-ui
tool:git:merge_request main
tool:self_edit:system_prompt
tool:self_edit:docs:README.md
tool:self_edit:permissions:open
tool:self_edit:model:claude-sonnet-4-20250514""".splitlines()


def document(allow: list[str], ask: list[str], action: str) -> Decision:
    """The document's own check."""
    if any(re.fullmatch(p, action) for p in allow):
        return Decision.ALLOW
    return Decision.ASK if any(re.fullmatch(p, action) for p in ask) else Decision.DENY


GRANTS = {"admin": ["open", "standard", "locked"], "developer": ["standard", "locked"], "viewer": ["locked"]}


@pytest.fixture
def engine(shared: Server, tmp_path: Any) -> Iterator[PermissionEngine]:
    yield PermissionEngine(server=shared.address, workspace=str(tmp_path), grants={"x": ["open"]})


def test_document(engine: PermissionEngine, shared: Server, tmp_path: Any) -> None:
    bare = PermissionEngine(server=shared.address, workspace=str(tmp_path), floor="off")
    for name, (allow, ask) in PRESETS.items():
        for action in EXAMPLES:
            if action.startswith("tool:self_edit:permissions:"):
                continue  # the roles of the user count as well
            want = document(allow, ask, action)
            assert bare.check(bare.resolve_profile(name), action) is want, (name, action)
            assert engine.check(engine.resolve_profile(name), action) is want, (name, action)
    custom = engine.resolve_profile(CUSTOM)
    for action in EXAMPLES:
        if not action.startswith("tool:self_edit:permissions:"):
            assert engine.check(custom, action) is document(CUSTOM["allow"], CUSTOM["ask"], action), action


def test_bad_input(engine: PermissionEngine, shared: Server) -> None:
    for wrong in ("root", {"allow": ["tool:("], "ask": []}, {"allow": "tool:.*"}, {"allow": [1]}, {"allow": [], "deny": []}):
        with pytest.raises(InvalidProfileError):
            engine.resolve_profile(wrong)
    everything = engine.resolve_profile("open")
    for action in ("", "bash:ls", "tool:git:push origin HEAD:main", "tool:git:push origin +main", "tool:view:../x", "tool:bash:ls\npwd", "\ud800"):
        assert engine.check(everything, action) is Decision.DENY, action
    with bad.servers() as places:
        for name, address in places.items():
            if name == "silent":
                continue  # which takes its time, and the client's own tests have it
            off = PermissionEngine(server=address)
            assert off.check(PermissionProfile(name="open"), "tool:view:a") is Decision.DENY, name
            keeper = Gatekeeper(off, None, None)
            said = asyncio.run(keeper.check(PermissionProfile(name="open"), "tool:view:a", agent="a", user="u"))
            assert not said.allowed and "Permission denied" in said.error and address.removeprefix("unix:") not in said.error, (name, said)
    for reply in (None, True, "yes", Reply("u", "yes"), Reply("u", 1), {"approve": True}):  # type: ignore[arg-type]

        async def ask(_: Question, reply: Any = reply) -> Any:
            return reply

        keeper = Gatekeeper(engine, None, ask)
        said = asyncio.run(keeper.check(engine.resolve_profile("standard"), "tool:bash:make", agent="a", user="u"))
        assert said.decision == "ask_denied" and "asking failed: TypeError" in said.error, (reply, said)


def test_asked_once(engine: PermissionEngine) -> None:
    """Equal actions at the same time are questions one after the other, and each answer counts for one."""
    open_now, replies = 0, [True, False]

    async def ask(q: Question) -> Reply:
        nonlocal open_now
        open_now += 1
        assert open_now == 1
        await asyncio.sleep(0)
        open_now -= 1
        return Reply(q.user, replies.pop(0))

    async def go() -> list[str]:
        keeper, standard = Gatekeeper(engine, None, ask), engine.resolve_profile("standard")
        both = [keeper.check(standard, "tool:bash:make", agent="a", user="u") for _ in range(2)]
        return sorted(r.decision for r in await asyncio.gather(*both))

    assert asyncio.run(go()) == ["ask_approved", "ask_denied"]


def rows(db: Any) -> list[tuple[str, ...]]:
    cursor = db.cursor()
    cursor.execute("SELECT agent_name, action_string, decision, user_id, detail FROM audit_log")
    out: list[tuple[str, ...]] = cursor.fetchall()
    return out


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[Any]:
    """A connection to a PostgreSQL of the test's own."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not here: requirements/postgres.txt has it")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("PostgreSQL's initdb is not here")
    bin, data = programs[-1].parent, Path(tempfile.mkdtemp(prefix="ob"))
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:  # which PostgreSQL does not run as
        os.chown(data, 65534, 65534)
        as_user = {"user": 65534, "group": 65534}
    flags = ["-A", "trust", "-U", "obstat", "--no-sync", "--locale=C", "-E", "UTF8"]
    subprocess.run([bin / "initdb", "-D", data / "db", *flags], check=True, capture_output=True, cwd="/", **as_user)
    log = (tmp_path / "log").open("wb")
    server = subprocess.Popen([bin / "postgres", "-D", data / "db", "-k", data, "-h", "", "-F"], stdout=log, stderr=log, cwd="/", **as_user)
    until = time.monotonic() + 60
    db = None
    while db is None:
        try:
            db = psycopg.connect(host=str(data), user="obstat", dbname="postgres")
        except psycopg.OperationalError:
            assert server.poll() is None and time.monotonic() < until, (tmp_path / "log").read_text()
            time.sleep(0.05)
    yield db
    db.close()
    server.terminate()
    server.wait(60)
    log.close()
    shutil.rmtree(data)


def test_gatekeeper(engine: PermissionEngine, shared: Server, tmp_path: Any) -> None:
    whole_way(engine, shared, tmp_path, sqlite3.connect(":memory:", check_same_thread=False), "?")


def test_gatekeeper_postgres(engine: PermissionEngine, shared: Server, tmp_path: Any, postgres: Any) -> None:
    whole_way(engine, shared, tmp_path, postgres, "%s")


def whole_way(engine: PermissionEngine, shared: Server, tmp_path: Any, db: Any, placeholder: str) -> None:
    """The document's rows, in a table that reviewers query with SQL."""
    asked: list[str] = []
    replies = [Reply("eve", True), Reply("12345", True), Reply("12345", False), Reply("bob", True, [chorus.ADMINISTRATOR])]

    async def ask(q: Question) -> Reply:
        asked.append(q.text)
        return replies.pop(0)

    keeper = Gatekeeper(PermissionEngine(server=shared.address, workspace=str(tmp_path), grants=GRANTS), Audit(db, placeholder), ask)
    standard, locked = engine.resolve_profile("standard"), engine.resolve_profile("locked")

    def check(profile: PermissionProfile, action: str, **more: Any) -> chorus.Result:
        return asyncio.run(keeper.check(profile, action, **{"agent": "frontend", "user": "12345", **more}))

    assert check(standard, "tool:view:README.md").allowed
    assert check(standard, "tool:git:push origin main").allowed
    assert len(asked) == 2, "a stranger's answer does not count"
    assert asked[0] == "Agent wants to execute:\n  git: push origin main\n\nAction: tool:git:push origin main\n\nReact with checkmark to approve or X to deny."
    no = check(standard, "tool:bash:rm -rf /tmp/x")
    assert not no.allowed and "User declined" in no.error
    assert check(standard, "tool:bash:npm test").allowed
    assert not check(locked, "tool:bash:ls", agent="writing", user="67890").allowed
    keeper.timeout = 0.01

    async def silent(_: Question) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    async def broken(_: Question) -> Any:
        return True

    keeper.ask = silent
    assert not check(standard, "tool:bash:make").allowed
    keeper.ask, keeper.timeout = broken, 60
    assert not check(standard, "tool:bash:make").allowed
    assert rows(db) == [
        ("frontend", "tool:view:README.md", "allow", "12345", ""),
        ("frontend", "tool:git:push origin main", "ask_approved", "12345", ""),
        ("frontend", "tool:bash:rm -rf /tmp/x", "ask_denied", "12345", "User denied"),
        ("frontend", "tool:bash:npm test", "ask_approved", "12345", "Approved by bob"),
        ("writing", "tool:bash:ls", "deny", "67890", "Profile: locked"),
        ("frontend", "tool:bash:make", "ask_denied", "12345", "Timed out after 0.01 seconds"),
        ("frontend", "tool:bash:make", "ask_denied", "12345", "asking failed: TypeError: a reply is a Reply, not True"),
    ]
    cursor = db.cursor()
    cursor.execute("SELECT count(*) FROM audit_log WHERE decision = 'ask_denied' AND detail LIKE 'Timed out%'")
    assert cursor.fetchall() == [(1,)], "an ask that expires is a row"
    db.close()
    assert not check(standard, "tool:view:README.md").allowed, "without a row nothing runs"


def test_expired_on_the_server() -> None:
    """An ask that nobody answers on the server is a record there, and a row of the document's table."""
    server = Server('{"permissions": "standard"}', "agent.json", ("--ask-timeout", "100ms"))
    try:
        call = Call("bash", {"command": "npm test"}, agent="frontend", user="12345", dir=str(server.dir))
        assert Client(server.address).authorize(call).effect == "ask"
        until = time.monotonic() + 120
        while not any(r.get("verdict") == "expired" for r in server.ledger()):
            assert time.monotonic() < until, server.ledger()
            time.sleep(0.1)
        out = subprocess.run(
            [binary(), "log", "export", "--format", "chorus", "--store", str(server.dir / "obstat.db")], capture_output=True, text=True, check=True
        ).stdout
        assert "tool:bash:npm test" in out and "ask_denied" in out and "12345" in out, out
    finally:
        server.close()


def test_roles(engine: PermissionEngine, shared: Server, tmp_path: Any) -> None:
    async def yes(q: Question) -> Reply:
        return Reply(q.user, True)

    def may(grants: Any, roles: list[str], profile: str) -> bool:
        keeper = Gatekeeper(PermissionEngine(server=shared.address, workspace=str(tmp_path), grants=grants), None, yes)
        action = "tool:self_edit:permissions:" + profile
        return asyncio.run(keeper.check(PermissionProfile(name="standard"), action, agent="a", user="u", roles=roles)).allowed

    assert may(GRANTS, ["admin"], "open") and may(GRANTS, ["developer"], "standard") and may(GRANTS, ["viewer"], "locked")
    assert not may(GRANTS, ["developer"], "open") and not may(GRANTS, ["viewer"], "standard") and not may(GRANTS, [], "locked")
    assert may(None, [chorus.ADMINISTRATOR], "open") and not may(None, ["admin"], "open")


def test_beside_the_document(shared: Server, tmp_path: Any) -> None:
    """Random actions under random profiles: never looser than the document, and without the floor equal to it."""
    rng = random.Random(7)
    patterns = [p for lists in PRESETS.values() for some in lists for p in some] + [
        *("tool:bash:npm .*", "tool:bash:(ls|cat|head|tail).*", "tool:git:push origin (dev|staging)", "tool:git:push origin (?!main).*"),
        *("tool:create_file:src/.*", "tool:str_replace:tests/.*\\.py", "tool:self_edit:(system_prompt|model:.*)", "tool:self_edit:docs:.*"),
    ]
    details = ["npm test", "npm i; rm -rf build", "ls -la", "cat x > y", "python a.py", "git status", "lsblk", "make && make install"]
    paths = ["src/a.py", "README.md", "tests/t.py", "docs/x.md", "config/a b.yaml"]
    actions = [f"tool:bash:{d}" for d in details] + [f"tool:{t}:{p}" for t in ("view", "create_file", "str_replace", "self_edit:docs") for p in paths]
    actions += [f"tool:git:push origin {b}" for b in ("main", "dev", "staging", "feature/x", "mainline")] + EXAMPLES[-8:]
    actions = [a for a in actions if not a.startswith("tool:self_edit:permissions:")]
    on, off = (PermissionEngine(server=shared.address, workspace=str(tmp_path), floor=f) for f in ("on", "off"))
    strict = [Decision.ALLOW, Decision.ASK, Decision.DENY]
    for _ in range(int(os.environ.get("OBSTAT_BESIDE", "100"))):
        allow, ask = rng.sample(patterns, rng.randint(0, 4)), rng.sample(patterns, rng.randint(0, 4))
        action, profile = rng.choice(actions), PermissionProfile(allow, ask)
        want = document(allow, ask, action)
        assert off.check(profile, action) is want, (allow, ask, action)
        assert strict.index(on.check(profile, action)) >= strict.index(want), (allow, ask, action)


def test_page(shared: Server, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The page's program, as it stands there."""
    page = (Path(__file__).resolve().parents[3] / "docs/frameworks/chorus.md").read_text()
    monkeypatch.setenv("OBSTAT_SERVER", shared.address)
    monkeypatch.chdir(tmp_path)
    exec(compile(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], "chorus.md", "exec"), {})  # noqa: S102
    out = capsys.readouterr().out
    assert out.startswith("Decision.ASK\nAgent wants to execute:\n  git: push origin main\n") and "allowed=True" in out
    assert len(rows(sqlite3.connect("audit.db"))) == 1


def test_client(shared: Server) -> None:
    with pytest.raises(Exception, match="cannot be the branch"):
        said = Client(shared.address).decide_by(
            {"dialect": "chorus", "files": [{"text": '{"permissions": "open"}'}]}, chorus._call("tool:git:push origin a:b", "/")
        )
        raise RuntimeError(said["reason"])
