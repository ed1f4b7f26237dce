"""The clients against a real server."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import Server

import obstat_sdk as obstat
from obstat_sdk import AsyncClient, Call, Client, Decision, ObstatError
from obstat_sdk.guard import Guard


class Patient(Client):
    """A Client for a busy machine."""

    def __init__(self, server: str | None = None, *, timeout: float = 60, **more: Any) -> None:
        super().__init__(server, timeout=timeout, **more)


class Sync:
    """An AsyncClient that is used like a Client, so that both pass the same tests."""

    def __init__(self, server: str, *, timeout: float = 60, **more: Any) -> None:
        self._client = AsyncClient(server, timeout=timeout, **more)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *args, **kw: asyncio.run(getattr(self._client, name)(*args, **kw))


both = pytest.mark.parametrize("make", [Patient, Sync])


def pay(to: str = "bob", amount: float = 5, **more: Any) -> Call:
    return Call("pay", {"to": to, "amount": amount}, **more)


@both
def test_verdicts(shared: Server, make: Any) -> None:
    c = make(shared.address)
    allow, ask, deny = (c.authorize(Call(t, {"x": 1})) for t in ("safe", "pay", "wipe"))
    assert (allow.effect, ask.effect, deny.effect) == ("allow", "ask", "deny")
    assert allow.allowed and not ask.allowed and not deny.allowed
    assert allow.id is None and ask.id and ask.state == "pending"
    assert deny.rule and deny.rule.text == '"wipe": "deny"' and deny.rule.line == 1 and deny.rule.file.endswith("opencode.json")
    assert all(d.reason and d.error is None for d in (allow, ask, deny))


@both
def test_claim_is_once(shared: Server, make: Any) -> None:
    c = make(shared.address)
    call = pay(id="1", session=uuid.uuid4().hex)
    asked = c.authorize(call)
    assert c.authorize(call).id == asked.id, "put again, it is the same ask"
    assert c.claim(asked.id, call).effect == "deny", "nobody has answered"
    shared.answer(asked.id)
    assert c.claim(asked.id, pay("eve", 5000, id="1")).effect == "deny", "another call's approval"
    got = c.authorize(call)
    assert got.allowed and got.id == asked.id
    assert c.authorize(call).effect == "deny", "replayed"
    assert c.claim(asked.id, call).effect == "deny", "claimed twice"
    c.report(got.id, True, "sent")
    done = shared.request(asked.id)
    assert done["state"] == "done" and done["outcome"]["words"] == "sent"


@both
def test_edited_call_is_decided_again(shared: Server, make: Any) -> None:
    c, session = make(shared.address), uuid.uuid4().hex
    first = c.authorize(pay(id="1", session=session))
    shared.answer(first.id)
    edited = c.authorize(pay("eve", 5000, id="1", session=session))
    assert edited.effect == "ask" and edited.id != first.id and edited.state == "pending"
    assert c.authorize(Call("wipe", {"path": "/"}, id="1", session=session)).effect == "deny"
    assert c.authorize(pay(id="1", session=session)).allowed


@both
def test_many_claim_one_wins(shared: Server, make: Any) -> None:
    call = pay(id="1", session=uuid.uuid4().hex)
    asked = make(shared.address).authorize(call)
    shared.answer(asked.id)
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda _: make(shared.address).authorize(call), range(16)))
    assert sum(d.allowed for d in got) == 1


@both
def test_wait(shared: Server, make: Any) -> None:
    session = uuid.uuid4().hex

    def person() -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            for r in shared.pending():
                if r["call"].get("session") == session:
                    shared.answer(r["id"])
                    return
            time.sleep(0.02)

    answers = threading.Thread(target=person)
    answers.start()
    d = make(shared.address).authorize(pay(session=session), wait=60)
    answers.join()
    assert d.allowed and d.id, d


@both
def test_wait_ends(shared: Server, make: Any) -> None:
    assert make(shared.address).authorize(pay(session=uuid.uuid4().hex), wait=1).effect == "ask"


@both
def test_refused_and_edited_by_a_person(shared: Server, make: Any) -> None:
    c = make(shared.address)
    no, other = pay(id="n", session=uuid.uuid4().hex), pay(id="e", session=uuid.uuid4().hex)
    shared.answer(c.authorize(no).id, allow=False, words="not to bob")
    d = c.authorize(no)
    assert d.effect == "deny" and "not to bob" in d.reason
    shared.answer(c.authorize(other).id, input={"to": "bob", "amount": 1})
    d = c.authorize(other)
    assert d.allowed and d.input == {"to": "bob", "amount": 1}


@both
def test_run(shared: Server, make: Any) -> None:
    c, ran = make(shared.address), []
    assert c.run(Call("safe", {"x": 1}), lambda i: ran.append(i) or "done") == "done"
    with pytest.raises(obstat.Denied) as denied:
        c.run(Call("wipe", {"path": "/"}), ran.append)
    with pytest.raises(obstat.Pending) as pending:
        c.run(pay(id="r", session="run-" + uuid.uuid4().hex), ran.append)
    assert ran == [{"x": 1}]
    assert denied.value.decision.effect == "deny" and pending.value.decision.id


@both
def test_run_reports_failures(shared: Server, make: Any) -> None:
    c, call = make(shared.address), pay(id="f", session=uuid.uuid4().hex)
    id = c.authorize(call).id
    shared.answer(id)

    def broken(_: object) -> None:
        raise OSError("no money")

    with pytest.raises(OSError, match="no money"):
        c.run(call, broken)
    assert shared.request(id)["outcome"] == {**shared.request(id)["outcome"], "ok": False, "words": "OSError: no money"}


def test_run_gets_what_was_decided(shared: Server) -> None:
    """A thread that changes the input after the decision changes nothing."""
    given = {"to": "bob"}

    class Slow(Patient):
        def _drive(self, steps: Any) -> Any:
            out = super()._drive(steps)
            given["to"] = "eve"
            return out

    seen: list[Any] = []
    Slow(shared.address).run(Call("safe", given), seen.append)
    assert seen == [{"to": "bob"}] and given == {"to": "eve"}


@both
def test_explain(shared: Server, make: Any) -> None:
    c, before = make(shared.address), len(shared.ledger())
    view = c.explain(Call("wipe", {"path": "/"}))
    assert view["verdict"] == "deny" and view["walk"]
    assert len(shared.ledger()) == before, "nothing is recorded"


def test_async_run_awaits(shared: Server) -> None:
    async def go() -> object:
        async def fn(i: dict[str, Any]) -> int:
            await asyncio.sleep(0)
            return int(i["x"]) + 1

        async with AsyncClient(shared.address, timeout=60) as c:
            many = await asyncio.gather(*(c.authorize(Call("safe", {"n": n})) for n in range(50)))
            assert all(d.allowed for d in many)
            return await c.run(Call("safe", {"x": 1}), fn)

    assert asyncio.run(go()) == 2


def test_threads_and_restarts(server: Server) -> None:
    """Connections that a server closed are opened anew; threads share a client."""
    c = Patient(server.address)
    with ThreadPoolExecutor(8) as pool:
        assert all(d.allowed for d in pool.map(lambda n: c.authorize(Call("safe", {"n": n})), range(64)))
        server.stop()
        gone = c.authorize(Call("safe"))
        assert gone.effect == "deny" and gone.error == "unreachable"
        server.start()
        assert all(d.allowed for d in pool.map(lambda n: c.authorize(Call("safe", {"n": n})), range(64)))


def _child(c: Client, out: Any) -> None:
    out.put([c.authorize(Call("safe", {"n": n})).effect for n in range(20)])


def test_fork(shared: Server) -> None:
    """A forked process does not read its parent's answers."""
    c = Patient(shared.address)
    assert c.authorize(Call("safe")).allowed
    fork = multiprocessing.get_context("fork")
    out: Any = fork.Queue()
    p = fork.Process(target=_child, args=(c, out))
    p.start()
    mine = [c.authorize(Call("wipe", {"n": n})).effect for n in range(20)]
    assert out.get(timeout=60) == ["allow"] * 20 and mine == ["deny"] * 20
    p.join()


def test_module_functions(shared: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSTAT_SERVER", shared.address)
    monkeypatch.setattr(obstat, "_client", None)
    call = pay(id="m", session=uuid.uuid4().hex)
    assert obstat.authorize(Call("safe")).allowed
    d: Decision = obstat.authorize(call)
    shared.answer(str(d.id))
    assert obstat.claim(str(d.id), call).allowed
    obstat.report(d.id, True)
    assert obstat.explain(call)["verdict"] == "ask"
    assert obstat.run(Call("safe", {"x": 2}), lambda i: i["x"]) == 2


def test_given_up_asks_leave_the_inbox(shared: Server) -> None:
    def waits(to: str) -> list[Any]:
        return [r for r in shared.pending() if r["call"]["input"].get("to") == to]

    assert not Guard(shared.address, ask="deny").check("pay", {"to": "denied"}).allowed
    assert not waits("denied")
    assert not Guard(shared.address, ask="wait", wait=1).check("pay", {"to": "late"}).allowed
    assert not waits("late")
    assert Guard(shared.address).check("pay", {"to": "paused"}).asking
    assert waits("paused")

    async def cancelled() -> None:
        guard = Guard(shared.address, ask="wait", wait=60)
        task = asyncio.create_task(guard.acheck("pay", {"to": "cancelled"}, id="call-1", session="s"))
        while not waits("cancelled"):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while waits("cancelled"):
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(cancelled(), 60))


SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


@both
def test_printed(shared: Server, make: Any) -> None:
    """An output keeps its shape, and without secrets it is the same object."""
    c, call = make(shared.address), Call("safe", {"x": 1})
    p = c.printed(call, {"rows": [{"id": 1, "text": f"token={SECRET}"}], "n": 2})
    assert (p.output, p.secrets) == ({"n": 2, "rows": [{"id": 1, "text": "token=[masked]"}]}, 1) and "masked a secret" in p.note
    loop: dict[str, Any] = {"a": 1}
    loop["self"] = loop
    for output in (None, 17, True, "", [], {"image": b"x" * 9_000_000}, loop, object(), "half \ud800"):
        assert c.printed(call, output).output is output
    assert c.printed(call, {"when": object, "text": SECRET}, failed=True).secrets == 1
    with pytest.raises(ObstatError, match="are the most"):
        c.printed(call, "x" * 8_000_000)


def test_withheld(server: Server) -> None:
    """An output that cannot be looked through does not reach the model; nor does a place of this machine."""
    guard = Guard(server.address, session="s", agent="a")
    checked = guard.check("safe", {"x": 1})
    assert checked.allowed
    server.stop()
    for said in (guard.shown(checked, SECRET), asyncio.run(guard.ashown(checked, SECRET))):
        assert "withheld" in said and "(unreachable)" in said and SECRET not in said and str(server.dir) not in said
    assert Guard(server.address, mask=False).shown(checked, SECRET) == SECRET


def test_put_again_is_one_call(shared: Server) -> None:
    """A framework that asks whether a call pauses, and puts it again before it runs, makes one call of it: the second of two
    equal calls is no third in a row."""
    guard = Guard(shared.address, session="again", agent="a")

    async def go() -> list[bool]:
        out = []
        for id in ("1", "2", "3"):
            await guard.peek("safe", {"x": 1}, id=id)
            out.append((await guard.acheck("safe", {"x": 1}, id=id)).allowed)
        return out

    assert asyncio.run(go()) == [True, True, False]  # the policy denies doom_loop


def test_spaced_json_is_one_call(shared: Server) -> None:
    """Arguments that a model writes with other spaces and in another order are the call that was asked about, which runs once."""
    guard = Guard(shared.address, session=uuid.uuid4().hex, agent="a")
    first = guard.check("pay", '{"to":"bob","amount":5}', id="1")
    again = guard.check("pay", '{ "amount" : 5,\n "to": "bob" }', id="1")
    assert first.asking and again.asking and first.decision.id == again.decision.id
    other = guard.check("pay", '{"to":"eve","amount":5}', id="1")
    assert other.asking and other.decision.id != first.decision.id
    shared.approve_all()
    assert guard.check("pay", '{ "amount" : 5,\n "to": "bob" }', id="1").allowed
    assert not guard.check("pay", '{"to":"bob","amount":5}', id="1").allowed
