"""Bad input, bad servers, bad sockets: an exception with the reason, or a deny; never an allow."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Server, binary
from test_client import Patient, Sync

import obstat_sdk as obstat
from obstat_sdk import BadCall, Call, Client, ConfigError, SocketError, VersionError
from obstat_sdk._types import decode_input
from suite.server import Fake

both = pytest.mark.parametrize("make", [Patient, Sync])


def cyclic() -> dict[str, Any]:
    out: dict[str, Any] = {"a": []}
    out["a"].append(out)
    return out


def laughs() -> list[Any]:
    out: list[Any] = ["ha"]
    for _ in range(100):
        out = [out, out]
    return out


def deep() -> list[Any]:
    out: list[Any] = []
    for _ in range(100_000):
        out = [out]
    return out


BAD: dict[str, tuple[Any, str]] = {
    "not an object": ([1], "input is a JSON object, not list"),
    "a function": ({"f": print}, r"input\.f: builtin_function_or_method is not JSON"),
    "bytes": ({"files": [{"data": b"x"}]}, r"input\.files\[0\]\.data: bytes is not JSON"),
    "a set": ({"a": {1}}, r"input\.a: set is not JSON"),
    "NaN": ({"a": [1, {"b": math.nan}]}, r"input\.a\[1\]\.b: nan is a number that JSON"),
    "infinity": ({"a": [math.inf]}, r"input\.a\[0\]: inf is a number that JSON"),
    "10 MB": ({"a": "x" * 10_000_000}, "10,000,008 bytes"),
    "a cycle": (cyclic(), "holds itself"),
    "laughs": ({"a": laughs()}, "more than 1,000,000 values"),
    "deep": ({"a": deep()}, "deep"),
    "lone surrogate": ({"a": "\ud800"}, "half a character"),
    "lone surrogate key": ({"\udfff": 1}, "half a character"),
    "number as key": ({"a": {1: 2}}, r"input\.a: the key 1 is int"),
    "None as key": ({None: 2}, "the key None"),
    "a huge number": ({"a": 10**5000}, "input: "),
}


@both
@pytest.mark.parametrize("name", BAD)
def test_bad_input(shared: Server, make: Any, name: str) -> None:
    value, why = BAD[name]
    for go in (make(shared.address).authorize, make(shared.address).explain):
        with pytest.raises(BadCall, match=why) as e:
            go(Call("safe", value))
        assert e.value.decision.effect == "deny" and e.value.decision.reason == e.value.reason


@pytest.mark.parametrize("tool", ["", None, 5, "a\ud800"])
def test_bad_tool(shared: Server, tool: Any) -> None:
    with pytest.raises(BadCall):
        Client(shared.address).authorize(Call(tool))


@pytest.mark.parametrize("bad", [5, b"x", ["x"], "\ud800"])
@pytest.mark.parametrize("name", ["agent", "session", "user", "mode", "dir"])
def test_bad_field(shared: Server, name: str, bad: Any) -> None:
    with pytest.raises(BadCall, match=name):
        Client(shared.address).authorize(Call("safe", **{name: bad}))
    with pytest.raises(BadCall, match="roots"):
        Client(shared.address).authorize(Call("safe", roots=("/a", bad)))


def test_odd_but_good(shared: Server) -> None:
    """What JSON has is sent as it is, and the server sees the same bytes."""
    call = Call("pay", {"é": "😀\u2028\x7f", "n": 10**30, "t": (1, 2), "z": None, "a": True, "e": {}})
    d = Patient(shared.address).authorize(call)
    assert d.effect == "ask" and shared.request(str(d.id))["digest"] == call.put().digest == d.digest


def test_key_depends_on_all() -> None:
    keys = {Call("t", {"a": 1}, id=i, session=s).put().key for i in ("1", "2") for s in ("x", "y")}
    keys |= {Call("t", {"a": 2}, id="1", session="x").put().key, Call("u", {"a": 1}, id="1", session="x").put().key}
    assert len(keys) == 6 and Call("t").put().key is None
    assert Call("t", {"a": 1, "b": 2}, id="1").put().key == Call("t", {"b": 2, "a": 1}, id="1").put().key


@pytest.mark.parametrize("text", ["{", "[1]", '{"a":1,"a":2}', '{"a":NaN}', "null", "[" * 100_000])
def test_models_arguments(text: str) -> None:
    with pytest.raises(BadCall):
        decode_input(text)
    checked = obstat.Guard("unix:/nobody/s").check("safe", text)
    assert checked.decision.effect == "deny" and "the arguments are" in checked.message and checked.args == {}


@pytest.mark.parametrize(
    "address",
    ["unix:rel/s", "http://example.com:80", "ftp://127.0.0.1", "127.0.0.1:8470", "http://127.0.0.1:99999", "http://u@127.0.0.1", "http://127.0.0.1/x", "x"],
)
def test_bad_address(address: str) -> None:
    with pytest.raises(ConfigError):
        Client(address)


def test_bad_options() -> None:
    with pytest.raises(ConfigError):
        Client("unix:/s", token="a\r\nHost: b")
    for timeout in (0, -1, math.nan):
        with pytest.raises(ConfigError):
            Client("unix:/s", timeout=timeout)


@pytest.mark.parametrize("id", ["", "../x", "a/b", "a b", "a?b", "é"])
def test_bad_id(shared: Server, id: str) -> None:
    with pytest.raises(obstat.ObstatError):
        Client(shared.address).claim(id, Call("safe"))


# -- servers that are none

OK = b'{"verdict":"allow","reason":"r"}'


def http(body: bytes = OK, status: bytes = b"200 OK", head: bytes = b"Obstat-Api: 1\r\n") -> bytes:
    return b"HTTP/1.1 " + status + b"\r\n" + head + b"Content-Length: %d\r\n\r\n" % len(body) + body


@pytest.fixture
def fake() -> Iterator[Callable[[bytes | None], str]]:
    made: list[Fake] = []
    dir = Path(tempfile.mkdtemp(prefix="ob"))
    dir.chmod(0o700)

    def make(answer: bytes | None) -> str:
        made.append(Fake(dir, answer))
        return "unix:" + made[-1].path

    yield make
    for f in made:
        f.close()
    shutil.rmtree(dir)


UNREADABLE = {
    "nothing": (b"", "unreachable"),
    "cut off": (http()[:-5], "unreachable"),
    "not HTTP": (b"SSH-2.0-OpenSSH\r\n\r\n", "unreadable"),
    "HTTP/1.0": (http().replace(b"1.1", b"1.0", 1), "unreadable"),
    "no length": (b"HTTP/1.1 200 OK\r\nObstat-Api: 1\r\n\r\n" + OK, "unreadable"),
    "two lengths": (http(head=b"Obstat-Api: 1\r\nContent-Length: 2\r\n"), "unreadable"),
    "a length and chunks": (http(head=b"Obstat-Api: 1\r\nTransfer-Encoding: chunked\r\n"), "unreadable"),
    "more than its length": (http() + http(), "unreadable"),
    "a line that is no field": (http(head=b"Obstat-Api: 1\r\nnothing\r\n"), "unreadable"),
    "two versions": (http(head=b"Obstat-Api: 1\r\nobstat-api: 1\r\n"), "unreadable"),
    "a long head": (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 20_000, "unreadable"),
    "a long body": (b"HTTP/1.1 200 OK\r\nObstat-Api: 1\r\nContent-Length: 99999999\r\n\r\n", "unreadable"),
    "bad chunks": (b"HTTP/1.1 200 OK\r\nObstat-Api: 1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "unreadable"),
    "no JSON": (http(b"allow"), "unreadable"),
    "a list": (http(b"[]"), "unreadable"),
    "no verdict": (http(b'{"reason":"r"}'), "unreadable"),
    "another verdict": (http(b'{"verdict":"ALLOW","reason":"r"}'), "unreadable"),
    "no reason": (http(b'{"verdict":"allow","reason":""}'), "unreadable"),
    "input of another kind": (http(b'{"verdict":"allow","reason":"r","input":[]}'), "unreadable"),
    "a request of another call": (http(b'{"verdict":"allow","reason":"r","request":{"id":"x","state":"claimed","digest":"00"}}'), "unreadable"),
    "deep": (http(b"[" * 100_000), "unreadable"),
    "a redirect": (http(b"", b"302 Found", b"Obstat-Api: 1\r\nLocation: http://127.0.0.1/\r\n"), "refused"),
    "an error": (http(OK, b"500 Broken"), "refused"),
    "a problem": (http(b'{"title":"log in","detail":"or not"}', b"401 No"), "refused"),
}


@both
@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable(fake: Callable[[bytes], str], make: Any, name: str) -> None:
    answer, code = UNREADABLE[name]
    d = make(fake(answer)).authorize(Call("safe"))
    assert d.effect == "deny" and d.error == code and d.reason


@both
def test_readable(fake: Callable[[bytes], str], make: Any) -> None:
    """The other way round: what differs from the cases above in nothing is allowed."""
    chunks = b"HTTP/1.1 200 OK\r\nObstat-Api: 1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n" + OK[:5] + b"\r\n%x\r\n" % len(OK[5:]) + OK[5:] + b"\r\n0\r\n\r\n"
    address = fake(http())
    assert make(address).authorize(Call("safe")).allowed
    os.unlink(address[5:])
    assert make(fake(chunks)).authorize(Call("safe")).allowed


@both
@pytest.mark.parametrize("head", [b"", b"Obstat-Api: 2\r\n"])
def test_another_version(fake: Callable[[bytes], str], make: Any, head: bytes) -> None:
    with pytest.raises(VersionError, match="version") as e:
        make(fake(http(head=head))).authorize(Call("safe"))
    assert e.value.decision.effect == "deny"


@both
def test_late(fake: Callable[[bytes | None], str], make: Any) -> None:
    c, began = make(fake(None), timeout=0.3), time.monotonic()
    d = c.authorize(Call("safe"))
    assert d.effect == "deny" and d.error == "timeout" and "0.3 seconds" in d.reason
    assert time.monotonic() - began < 30


@both
def test_gone(make: Any, tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path / "dead"):
        if path.name == "dead":
            s = socket.socket(socket.AF_UNIX)
            s.bind(str(path))
            path.chmod(0o600)
            s.close()
        tmp_path.chmod(0o700)
        d = make(f"unix:{path}").authorize(Call("safe"))
        assert d.effect == "deny" and d.error == "unreachable"
    d = make("http://127.0.0.1:1", token="t").authorize(Call("safe"))
    assert d.effect == "deny" and d.error == "unreachable"


# -- sockets that others can write


@both
def test_open_socket(shared: Server, make: Any) -> None:
    try:
        os.chmod(shared.path, 0o666)
        with pytest.raises(SocketError, match="others may write"):
            make(shared.address).authorize(Call("safe"))
        os.chmod(shared.path, 0o600)
        os.chmod(shared.dir, 0o777)
        with pytest.raises(SocketError, match="others may write"):
            make(shared.address).authorize(Call("safe"))
    finally:
        os.chmod(shared.path, 0o600)
        os.chmod(shared.dir, 0o700)
    assert make(shared.address).authorize(Call("safe")).allowed


@both
def test_no_socket(make: Any, tmp_path: Path, shared: Server) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(shared.path)
    for name in ("file", "link"):
        with pytest.raises(SocketError, match="not a socket"):
            make(f"unix:{tmp_path / name}").authorize(Call("safe"))


def test_anothers_socket(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        os.chown(server.path, 4343, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4242)
    with pytest.raises(SocketError, match="belongs to"):
        Client(server.address).authorize(Call("safe"))


# -- starting one


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home in which nothing runs, and obstat on PATH."""
    dir = Path(tempfile.mkdtemp(prefix="ob"))
    (dir / "bin").mkdir()
    (dir / "bin" / "obstat").symlink_to(os.path.abspath(binary()))
    (dir / "home").mkdir()
    monkeypatch.setenv("HOME", str(dir / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(dir / "st"))
    monkeypatch.setenv("PATH", str(dir / "bin"))
    monkeypatch.delenv("OBSTAT_SERVER", raising=False)
    (dir / "p").mkdir()
    (dir / "p" / "opencode.json").write_text('{"permission": {"*": "deny", "safe": "allow"}}')
    below = ["/bin/sh", "-c", 'unset OBSTAT_TRUST; "$0" trust --yes "$1"; exit $?']  # of a machine without a person
    subprocess.run([*below, binary(), str(dir / "p")], check=True, capture_output=True, env={**os.environ, "OBSTAT_TRUST": str(dir)})
    yield dir
    for pid in servers(dir):
        os.kill(pid, 15)
    until = time.monotonic() + 20
    while servers(dir) and time.monotonic() < until:
        time.sleep(0.02)
    shutil.rmtree(dir)


def servers(dir: Path) -> list[int]:
    """The servers that were started below a directory."""
    out = subprocess.run(["/bin/ps", "-eo", "pid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in out.splitlines()]
    return [int(pid) for pid, stat, args in rows if f"--socket {dir}/" in args and not stat.startswith("Z")]


@both
def test_start(home: Path, make: Any) -> None:
    c = make(None)
    with_policy = Call("safe", dir=str(home / "p"))
    first = c.authorize(with_policy)
    assert first.allowed, first
    assert c.authorize(Call("wipe", dir=str(home / "p"))).effect == "deny"
    assert len(servers(home)) == 1
    assert make(None).authorize(with_policy).allowed and len(servers(home)) == 1
    assert os.stat(home / "st" / "obstat" / "run" / "serve.log").st_mode & 0o077 == 0


def test_start_together(home: Path) -> None:
    """Processes that start at the same time use one server."""
    # With a number each: the third of three equal calls in a row is a doom loop.
    code = f"import obstat_sdk as obstat, sys; print(obstat.authorize(obstat.Call('safe', {{'n': sys.argv[1]}}, dir={str(home / 'p')!r})))"
    env = {**os.environ, "PYTHONPATH": str(Path(obstat.__file__).parent.parent)}
    started = [subprocess.Popen([sys.executable, "-c", code, str(n)], env=env, stdout=subprocess.PIPE, text=True) for n in range(4)]
    answers = [p.communicate(timeout=60)[0] for p in started]
    assert all("effect='allow'" in a for a in answers), answers
    until = time.monotonic() + 20
    while len(servers(home)) > 1 and time.monotonic() < until:
        time.sleep(0.02)
    assert len(servers(home)) == 1


@both
def test_start_is_not_wanted(home: Path, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert make(None, start=False).authorize(Call("safe")).error == "unreachable"
    monkeypatch.setenv("OBSTAT_START", "0")
    assert make(None).authorize(Call("safe")).error == "unreachable"
    assert not servers(home)


@both
def test_no_program(home: Path, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home / "bin")
    monkeypatch.setenv("PATH", ".:")  # what depends on where the agent stands does not count
    d = make(None).authorize(Call("safe"))
    assert d.effect == "deny" and d.error == "unreachable" and "not on PATH" in d.reason


@both
def test_program_that_fails(home: Path, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "bin" / "obstat").unlink()
    (home / "bin" / "obstat").write_text(f'#!/bin/sh\n[ "$1" != version ] || exec {binary()} "$@"\necho the disk is full\nexit 1\n')
    (home / "bin" / "obstat").chmod(0o755)
    monkeypatch.setattr(sys.modules["obstat_sdk.client"], "START", 3.0)
    d = make(None).authorize(Call("safe"))
    assert d.effect == "deny" and d.error == "unreachable" and "the disk is full" in d.reason


FOREIGN = {
    "says nothing": "exit 0",
    "prints its version": "echo obstat 0.7.0",
    "prints JSON of its own": """echo '{"version": "0.7.0", "python": "3.11"}'""",
    "prints a list": "echo '[1]'",
    "fails": """echo '{"v":1,"version":"1","go":"go1","platform":"a/b"}'; exit 1""",
}


@pytest.mark.parametrize("answer", FOREIGN.values(), ids=FOREIGN.keys())
def test_foreign_program(home: Path, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another project's `obstat` that stands before ours on PATH is passed over, and starts nothing."""
    (home / "theirs").mkdir()
    (home / "theirs" / "obstat").write_text(f'#!/bin/sh\n[ "$1" != serve ] || touch {home}/served\n{answer}\n')
    (home / "theirs" / "obstat").chmod(0o755)
    monkeypatch.setenv("PATH", f"{home / 'theirs'}:/usr/bin:/bin")
    d = Client().authorize(Call("safe", dir=str(home / "p")))
    assert d.error == "unreachable" and "not on PATH" in d.reason, d
    monkeypatch.setenv("PATH", f"{home / 'theirs'}:{home / 'bin'}:/usr/bin:/bin")
    assert Client().authorize(Call("safe", dir=str(home / "p"))).allowed
    assert not (home / "served").exists()


def test_workspace_of_started_server(home: Path) -> None:
    """The workspace is where the call is made, and not where the server was started."""
    (home / "plain").mkdir()
    c, dir = Client(), str(home / "plain")
    for tool, input in [
        ("write_file", {"path": "/etc/passwd", "content": "x"}),
        ("write_file", {"path": str(home / "home" / ".ssh" / "authorized_keys"), "content": "x"}),
        ("write_file", {"path": str(home / "home" / "elsewhere"), "content": "x"}),
        ("run_shell", {"command": "echo x > /etc/cron.d/x"}),
    ]:
        assert c.authorize(Call(tool, input, dir=dir)).effect != "allow", (tool, input)
    assert c.authorize(Call("write_file", {"path": dir + "/a.txt", "content": "x"}, dir=dir)).allowed


@pytest.mark.parametrize("name", ["check", "acheck"])
def test_arguments_that_change(shared: Server, name: str) -> None:
    """What a person approves is what runs, though the caller's object changes meanwhile."""
    args: dict[str, Any] = {"to": "bob", "list": [1]}
    guard = obstat.Guard(shared.address, ask="wait", wait=30, session="changes-" + name)
    got: list[Any] = []

    def run() -> None:
        checked = guard.check("pay", args) if name == "check" else asyncio.run(guard.acheck("pay", args))
        got.append(checked)

    thread = threading.Thread(target=run)
    thread.start()
    until = time.monotonic() + 20
    mine: list[Any] = []
    while not mine and time.monotonic() < until:
        mine = [r for r in shared.pending() if r["call"].get("session") == "changes-" + name]
        time.sleep(0.02)
    args["to"] = "eve"
    args["list"].append(2)
    shared.answer(mine[0]["id"])
    thread.join(30)
    assert got[0].allowed and got[0].args == {"to": "bob", "list": [1]}


def test_cancelled(shared: Server) -> None:
    """A task that is cancelled while it waits for a person leaves no half-read connection."""

    async def go() -> None:
        async with obstat.AsyncClient(shared.address, timeout=60) as c:
            task = asyncio.create_task(c.authorize(Call("pay", {"n": 1}), wait=30))
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await c.authorize(Call("safe"))).allowed

    asyncio.run(go())


def test_no_directory_for_the_model(shared: Server) -> None:
    """A model reads neither where the server listens nor where the policy is."""
    for address, told in (
        (shared.address, "(opencode.json:"),
        (f"unix:{shared.dir}/nobody", "could not be asked (unreachable)"),
        ("unix:/", "could not be asked"),
    ):
        guard = obstat.Guard(address, start=False)
        for checked in (guard.check("wipe", {}), asyncio.run(guard.acheck("wipe", {})), asyncio.run(guard.peek("wipe", {}))):
            assert not checked.allowed and told in checked.message and str(shared.dir) not in checked.message, checked.message
    asked = obstat.Guard(shared.address).check("pay", {"to": "nobody"})
    assert asked.asking and "(opencode.json:" in asked.message and str(shared.dir) not in asked.message, asked.message
