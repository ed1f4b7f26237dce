"""Clients of an obstat server, for threads and for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import secrets
import socket
import ssl
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from types import NoneType
from typing import Any, TypeVar

from . import _find
from ._types import Call, ConfigError, Decision, Denied, ObstatError, Pending, Printed, Put, Rule, SocketError, VersionError, encode, written
from ._wire import API, Answer, Ask, Fault, Reader, Unreadable, head

T = TypeVar("T")
Steps = Generator[Ask, "Answer | Fault", T]

CONNECT = 2.0
"""Seconds that connecting may take."""
START = 10.0
"""Seconds that a server may take to start."""
HOLD = 60
"""Seconds that one request waits for people; longer waits are several."""
LEASE = 3600
"""Seconds in which the outcome of an approved call is reported."""


class _Base:
    """What both clients do, without sending anything: each method yields requests and gets answers."""

    def __init__(self, server: str | None = None, *, token: str | None = None, timeout: float = 5.0, start: bool | None = None) -> None:
        if not timeout > 0:
            raise ConfigError(f"a time-out is a positive number of seconds, not {timeout!r}")
        self.place = _find.place(server)
        self.timeout = timeout
        self._token = token if token is not None else os.environ.get("OBSTAT_TOKEN", "")
        if not self._token.isascii() or any(c <= " " for c in self._token):
            raise ConfigError("the token holds characters that no token has")
        self._start = self.place.own and (start if start is not None else os.environ.get("OBSTAT_START", "") != "0")
        self._claims: OrderedDict[str, str] = OrderedDict()  # keys of claims, by request
        self._tls = ssl.create_default_context() if self.place.tls else None

    # -- the operations

    def _authorize(self, put: Put, wait: float, claim: bool = True) -> Steps[Decision]:
        key = put.key or (secrets.token_hex(16) if wait > 0 else None)
        until = time.monotonic() + wait
        while True:
            hold = max(0, min(HOLD, round(until - time.monotonic()))) if wait > 0 else 0
            body = b'{"call":' + put.body + b',"unclaimed":true'
            if hold:
                body += b',"wait":%d' % hold
            if key:
                body += b',"key":"%s"' % key.encode()
            answer = yield Ask("POST", "/v1/decisions", body + b"}", self.timeout + hold)
            d = _decision(answer, put)
            if d.effect == "ask" and d.id is not None:
                if d.state == "approved" and not claim:
                    return d
                if d.state == "approved":
                    return (yield from self._claim(d.id, put))
                if hold and time.monotonic() < until - 0.5:
                    continue
            return d

    def _claim(self, id: str, put: Put) -> Steps[Decision]:
        key = secrets.token_hex(16)
        body = json.dumps({"digest": put.digest, "key": key, "lease": LEASE}).encode()
        answer = yield Ask("POST", f"/v1/requests/{_segment(id)}/claim", body, self.timeout)
        d = _decision(answer, put)
        if d.effect == "ask":
            return Decision("deny", "the server did not let the claim decide", id=id, error="unreadable", digest=put.digest)
        if d.allowed:
            self._claims[id] = key
            while len(self._claims) > 10_000:
                self._claims.popitem(last=False)
        return d

    def _report(self, id: str | None, ok: bool, words: str) -> Steps[None]:
        if id is None:
            return
        body = {"ok": ok, "words": words.encode("utf-8", "replace").decode()[:2000], "key": self._claims.pop(id, "")}
        _good((yield Ask("POST", f"/v1/requests/{_segment(id)}/outcome", json.dumps(body).encode(), self.timeout)))

    def _printed(self, call: Call, output: Any, failed: bool) -> Steps[Printed]:
        if output is None or isinstance(output, (bool, int, float)):
            return Printed(output)  # no text, and so no secret
        body = b'{"call":' + call.put().body + b',"result":' + written(output) + (b',"failed":true}' if failed else b"}")
        out = _object(_good((yield Ask("POST", "/v1/printed", body, self.timeout)))) or {}
        secrets, note = out.get("secrets"), out.get("note", "")
        if not isinstance(secrets, int) or not isinstance(note, str) or (secrets > 0) != ("result" in out):
            reason = "the server's answer cannot be read as an output"
            raise ObstatError(reason, Decision("deny", reason, error="unreadable"))
        return Printed(out["result"], secrets, note) if secrets else Printed(output)

    def _explain(self, put: Put) -> Steps[dict[str, Any]]:
        answer = yield Ask("POST", "/v1/explain", b'{"call":' + put.body + b"}", self.timeout)
        out = _object(_good(answer))
        if out is None:
            raise ObstatError("the server's answer cannot be read")
        return out

    def _asked(self, id: str) -> Steps[dict[str, Any]]:
        out = _object(_good((yield Ask("GET", f"/v1/requests/{_segment(id)}", None, self.timeout))))
        if out is None:
            raise ObstatError("the server's answer cannot be read")
        return out

    def _answer(self, id: str, allow: bool, offers: Sequence[int]) -> Steps[None]:
        body: dict[str, Any] = {"allow": allow}
        if offers:
            body |= {"scope": "always", "offer": offers[0], "more": list(offers[1:])}
        _good((yield Ask("POST", f"/v1/requests/{_segment(id)}/answer", json.dumps(body).encode(), self.timeout)))

    def _decide_by(self, policy: Mapping[str, Any], put: Put, said: Mapping[str, Any] | None) -> Steps[dict[str, Any]]:
        body = b'{"policy":' + encode(policy, "policy") + b',"call":' + put.body
        if said is not None:
            body += b',"said":' + encode(said, "said")
        out = _object(_good((yield Ask("POST", "/v1/try", body + b"}", self.timeout))))
        if out is None or out.get("verdict") not in ("allow", "ask", "deny"):
            raise ObstatError("the server's answer cannot be read as a decision")
        return out

    # -- for those that send

    def _request(self, ask: Ask) -> bytes:
        body = ask.body
        out = head(ask.method, ask.path, self.place.authority, self._token, len(body) if body is not None else None)
        return out + body if body is not None else out

    def _checked(self, answer: Answer) -> Answer:
        if answer.api != API:
            what = f"speaks version {answer.api.decode('latin-1')} of the API" if answer.api else "is no obstat server, or one of another version"
            raise VersionError(f"{self.place} {what}; this package speaks version {API.decode()}")
        return answer

    def _unreachable(self, e: BaseException) -> Fault:
        return Fault("unreachable", f"obstat cannot be reached at {self.place}: {e}")

    def _late(self, ask: Ask) -> Fault:
        return Fault("timeout", f"obstat at {self.place} did not answer within {ask.timeout:g} seconds")

    def _unreadable(self, e: BaseException) -> Fault:
        return Fault("unreadable", f"what answered at {self.place} cannot be read: {e}")


def _segment(id: str) -> str:
    if not isinstance(id, str) or not id or not all(c.isascii() and (c.isalnum() or c in "_-.") for c in id) or id.startswith("."):
        raise ObstatError(f"{id!r:.100} is no request's id")
    return id


_read = json.JSONDecoder().raw_decode
"""Reads JSON without the layers of json.loads, which guesses an encoding and looks for white space: with cold caches that is most of its time."""


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        text = body.decode()
        out, end = _read(text)
    except (ValueError, RecursionError):
        return None
    return out if isinstance(out, dict) and not text[end:].strip(" \t\r\n") else None


def _problem(answer: Answer) -> str:
    p = _object(answer.body) or {}
    title, detail = p.get("title"), p.get("detail")
    text = title if isinstance(title, str) and title else f"the server answered {answer.status}"
    return f"{text}: {detail}" if isinstance(detail, str) and detail else text


def _good(answer: Answer | Fault) -> bytes:
    if isinstance(answer, Fault):
        raise ObstatError(answer.reason, Decision("deny", answer.reason, error=answer.code))
    if not 200 <= answer.status < 300:
        raise ObstatError(_problem(answer), Decision("deny", _problem(answer), error="refused"))
    return answer.body


def _decision(answer: Answer | Fault, put: Put) -> Decision:
    """Reads a decision; what is not certainly one denies."""
    if isinstance(answer, Fault):
        return Decision("deny", answer.reason, error=answer.code, digest=put.digest)
    if answer.status != 200:
        return Decision("deny", _problem(answer), error="refused", digest=put.digest)
    d = _object(answer.body)
    if d is None:
        return _bad(put)
    effect, reason, changed, asked = d.get("verdict"), d.get("reason"), d.get("input"), d.get("request")
    if effect not in ("allow", "ask", "deny") or not isinstance(reason, str) or not reason:
        return _bad(put)
    if (
        (changed is None and "input" in d)
        or (asked is None and "request" in d)
        or not isinstance(changed, (dict, NoneType))
        or not isinstance(asked, (dict, NoneType))
    ):
        return _bad(put)
    id = state = None
    if asked is not None:
        id, state = asked.get("id"), asked.get("state")
        if not isinstance(id, str) or not isinstance(state, str) or asked.get("digest") != put.digest:
            return _bad(put)
    return Decision(effect, reason, _rule(d.get("rule")), id, state, changed, d.get("safety") is True, None, put.digest)


def _bad(put: Put) -> Decision:
    return Decision("deny", "the server's answer cannot be read as a decision", error="unreadable", digest=put.digest)


def _rule(r: object) -> Rule | None:
    if not isinstance(r, dict):
        return None
    pos = r.get("pos")
    pos = pos if isinstance(pos, dict) else {}
    return Rule(str(r.get("text", "")), str(r.get("verdict", "")), str(pos.get("file", "")), int(pos.get("line", 0)), int(pos.get("col", 0)))


def _words(e: BaseException) -> str:
    return f"{type(e).__name__}: {e}"[:500]


class Client(_Base):
    """Puts calls to an obstat server. It may be used by several threads.

    `server` is `unix:/path`, `http://127.0.0.1:8470` or `https://...`; without it OBSTAT_SERVER,
    and without that the socket in the state directory, where a server is started if none runs.
    """

    def __init__(self, server: str | None = None, *, token: str | None = None, timeout: float = 5.0, start: bool | None = None) -> None:
        super().__init__(server, token=token, timeout=timeout, start=start)
        self._idle: list[socket.socket] = []
        self._pid = os.getpid()
        self._starting = threading.Lock()

    def authorize(self, call: Call, *, wait: float = 0, claim: bool = True) -> Decision:
        """Decides a call. `wait` is for how many seconds a person's answer is waited for.

        An approval is claimed here: `allow` means run it now, once. With `claim=False` it is left
        where it is, and the answer stays an ask whose `state` is "approved". Raises `BadCall`,
        `SocketError` and `VersionError`; every other fault is a deny with `error`.
        """
        return self._drive(self._authorize(call.put(), wait, claim))

    def claim(self, id: str, call: Call) -> Decision:
        """Takes the approval of a request, to run this call. It works once."""
        return self._drive(self._claim(id, call.put()))

    def report(self, id: str | None, ok: bool, words: str = "") -> None:
        """Says how a claimed call went."""
        self._drive(self._report(id, ok, words))

    def printed(self, call: Call, output: Any, *, failed: bool = False) -> Printed:
        """Returns a tool's output without its secrets, to show it to the model. Raises `ObstatError`."""
        return self._drive(self._printed(call, output, failed))

    def asked(self, id: str) -> dict[str, Any]:
        """Returns a request as it is now, with its `offers`. It takes a person's token."""
        return self._drive(self._asked(id))

    def answer(self, id: str, allow: bool, offers: Sequence[int] = ()) -> None:
        """Answers a request for the person whose token the client has: once, or with the offers, 1 and up, that
        are kept as rules."""
        self._drive(self._answer(id, allow, offers))

    def explain(self, call: Call) -> dict[str, Any]:
        """Shows how a call would be decided, as `obstat explain --json`; nothing is recorded."""
        return self._drive(self._explain(call.put()))

    def decide_by(self, policy: Mapping[str, Any], call: Call, said: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Decides a call by a policy that is sent with it, `{"dialect": ..., "files": [{"text": ...}]}`;
        nothing is recorded. `said` has the answers of a framework's own tool. Raises `ObstatError`."""
        return self._drive(self._decide_by(policy, call.put(), said))

    def run(self, call: Call, fn: Callable[[dict[str, Any]], T], *, wait: float = 0) -> T:
        """Runs `fn` with the call's input if that is allowed, and reports how it went.

        Raises `Denied`, or `Pending` while a person is asked. `fn` gets a copy of the bytes that
        were decided, so that nobody changes them in between.
        """
        put = call.put()
        d = self._drive(self._authorize(put, wait))
        if not d.allowed:
            raise (Pending if d.effect == "ask" else Denied)(d.reason, d)
        try:
            out = fn(d.input if d.input is not None else put.input())
        except BaseException as e:
            with contextlib.suppress(ObstatError):
                self.report(d.id, False, _words(e))
            raise
        with contextlib.suppress(ObstatError):
            self.report(d.id, True)
        return out

    def close(self) -> None:
        """Closes the connections that are kept."""
        while self._idle:
            self._idle.pop().close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _drive(self, steps: Steps[T]) -> T:
        try:
            ask = next(steps)
            while True:
                ask = steps.send(self._exchange(ask))
        except StopIteration as end:
            out: T = end.value
            return out

    def _exchange(self, ask: Ask) -> Answer | Fault:
        data, deadline = self._request(ask), time.monotonic() + ask.timeout
        if self._pid != os.getpid():  # a fork shares its parent's connections
            self._idle, self._pid = [], os.getpid()
        while True:
            try:
                kept, sock = True, self._idle.pop()
            except IndexError:
                try:
                    kept, sock = False, self._open(deadline)
                except TimeoutError:
                    return self._late(ask)
                except OSError as e:
                    return self._unreachable(e)
            reader = Reader()
            try:
                answer = self._talk(sock, data, reader, deadline)
            except TimeoutError:
                sock.close()
                return self._late(ask)
            except OSError as e:
                sock.close()
                if kept and not reader.began:
                    continue  # the server had closed it
                return self._unreachable(e)
            except BaseException as e:
                sock.close()
                if isinstance(e, Unreadable):
                    return self._unreadable(e)
                raise
            if answer.keep and len(self._idle) < 16 and self._pid == os.getpid():
                self._idle.append(sock)
            else:
                sock.close()
            return self._checked(answer)

    def _talk(self, sock: socket.socket, data: bytes, reader: Reader, deadline: float) -> Answer:
        sock.settimeout(max(0.001, deadline - time.monotonic()))
        sock.sendall(data)
        while True:
            piece = sock.recv(65536)
            if not piece:
                raise ConnectionResetError("it closed the connection")
            answer = reader.feed(piece)
            if answer is not None:
                return answer
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            sock.settimeout(left)

    def _open(self, deadline: float) -> socket.socket:
        try:
            return self._connect(deadline)
        except (FileNotFoundError, ConnectionRefusedError):
            if not self._start:
                raise
        with self._starting:
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                return self._connect(deadline)
            until = time.monotonic() + START
            started, log = _find.start(self.place.socket or "")
            while time.monotonic() < until:
                with contextlib.suppress(OSError, Unreadable, SocketError):  # its mode is set a moment after it is there
                    sock = self._connect(until)
                    ready = self._talk(sock, self._request(Ask("GET", "/readyz", None, 1)), Reader(), time.monotonic() + 1)
                    if self._checked(ready).status == 200:
                        return sock
                    sock.close()
                started.poll()
                time.sleep(0.02)
            raise ConnectionRefusedError(f"a server that was started did not become ready: {_find.last_line(log)}")

    def _connect(self, deadline: float) -> socket.socket:
        limit = max(0.001, min(CONNECT, deadline - time.monotonic()))
        path = self.place.socket
        if path is None:
            sock = socket.create_connection((self.place.host, self.place.port), limit)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is None:
                return sock
            try:
                return self._tls.wrap_socket(sock, server_hostname=self.place.host)
            except BaseException:
                sock.close()
                raise
        _find.check(path)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(limit)
            sock.connect(path)
            _find.check_peer(sock, path)
        except BaseException:
            sock.close()
            raise
        return sock


class AsyncClient(_Base):
    """`Client` for asyncio. Its connections belong to the event loop that opened them."""

    def __init__(self, server: str | None = None, *, token: str | None = None, timeout: float = 5.0, start: bool | None = None) -> None:
        super().__init__(server, token=token, timeout=timeout, start=start)
        self._idle: list[tuple[asyncio.AbstractEventLoop, int, asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def authorize(self, call: Call, *, wait: float = 0, claim: bool = True) -> Decision:
        """See `Client.authorize`."""
        return await self._drive(self._authorize(call.put(), wait, claim))

    async def claim(self, id: str, call: Call) -> Decision:
        """See `Client.claim`."""
        return await self._drive(self._claim(id, call.put()))

    async def report(self, id: str | None, ok: bool, words: str = "") -> None:
        """See `Client.report`."""
        await self._drive(self._report(id, ok, words))

    async def printed(self, call: Call, output: Any, *, failed: bool = False) -> Printed:
        """See `Client.printed`."""
        return await self._drive(self._printed(call, output, failed))

    async def asked(self, id: str) -> dict[str, Any]:
        """`Client.asked`."""
        return await self._drive(self._asked(id))

    async def answer(self, id: str, allow: bool, offers: Sequence[int] = ()) -> None:
        """`Client.answer`."""
        await self._drive(self._answer(id, allow, offers))

    async def explain(self, call: Call) -> dict[str, Any]:
        """See `Client.explain`."""
        return await self._drive(self._explain(call.put()))

    async def decide_by(self, policy: Mapping[str, Any], call: Call, said: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """See `Client.decide_by`."""
        return await self._drive(self._decide_by(policy, call.put(), said))

    async def run(self, call: Call, fn: Callable[[dict[str, Any]], T | Awaitable[T]], *, wait: float = 0) -> T:
        """See `Client.run`; `fn` may be async."""
        put = call.put()
        d = await self._drive(self._authorize(put, wait))
        if not d.allowed:
            raise (Pending if d.effect == "ask" else Denied)(d.reason, d)
        try:
            got = fn(d.input if d.input is not None else put.input())
            out: Any = await got if inspect.isawaitable(got) else got
        except BaseException as e:
            with contextlib.suppress(ObstatError):
                await asyncio.shield(self.report(d.id, False, _words(e)))
            raise
        with contextlib.suppress(ObstatError):
            await self.report(d.id, True)
        result: T = out
        return result

    async def close(self) -> None:
        """Closes the connections that are kept."""
        while self._idle:
            self._idle.pop()[3].close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _drive(self, steps: Steps[T]) -> T:
        try:
            ask = next(steps)
            while True:
                ask = steps.send(await self._exchange(ask))
        except StopIteration as end:
            out: T = end.value
            return out

    async def _exchange(self, ask: Ask) -> Answer | Fault:
        try:
            return self._checked(await self._send(ask))
        except (TimeoutError, asyncio.TimeoutError):  # two classes before Python 3.11
            return self._late(ask)
        except Unreadable as e:
            return self._unreadable(e)
        except OSError as e:
            return self._unreachable(e)

    async def _send(self, ask: Ask) -> Answer:
        data, loop = self._request(ask), asyncio.get_running_loop()
        while True:
            kept = self._kept(loop)
            reader, writer = kept if kept is not None else await self._open(ask.timeout)
            taken = Reader()
            try:
                answer = await self._talk(reader, writer, data, taken, ask.timeout)
            except ConnectionError:
                writer.close()
                if kept is not None and not taken.began:
                    continue  # the server had closed it
                raise
            except BaseException:
                writer.close()
                raise
            if answer.keep and len(self._idle) < 64:
                self._idle.append((loop, os.getpid(), reader, writer))
            else:
                writer.close()
            return answer

    def _kept(self, loop: asyncio.AbstractEventLoop) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        while self._idle:
            other, pid, reader, writer = self._idle.pop()
            if other is loop and pid == os.getpid() and not writer.is_closing():
                return reader, writer
        return None

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes, taken: Reader, timeout: float) -> Answer:
        late = asyncio.get_running_loop().call_later(timeout, writer.transport.abort)  # wait_for would start a task
        deadline = time.monotonic() + timeout
        try:
            writer.write(data)
            await writer.drain()
            while True:
                piece = await reader.read(65536)
                if not piece:
                    raise ConnectionResetError("it closed the connection")
                answer = taken.feed(piece)
                if answer is not None:
                    return answer
        except ConnectionError:
            if time.monotonic() >= deadline:
                raise TimeoutError from None
            raise
        finally:
            late.cancel()

    async def _open(self, timeout: float) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            return await self._connect(timeout)
        except (FileNotFoundError, ConnectionRefusedError):
            if not self._start:
                raise
        until = time.monotonic() + START
        started, log = _find.start(self.place.socket or "")
        while time.monotonic() < until:
            with contextlib.suppress(OSError, Unreadable, SocketError, asyncio.TimeoutError):
                reader, writer = await self._connect(CONNECT)
                ready = await self._talk(reader, writer, self._request(Ask("GET", "/readyz", None, 1)), Reader(), 1)
                if self._checked(ready).status == 200:
                    return reader, writer
                writer.close()
            started.poll()
            await asyncio.sleep(0.02)
        raise ConnectionRefusedError(f"a server that was started did not become ready: {_find.last_line(log)}")

    async def _connect(self, timeout: float) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        path, limit = self.place.socket, min(CONNECT, timeout)
        if path is None:
            return await asyncio.wait_for(asyncio.open_connection(self.place.host, self.place.port, ssl=self._tls), limit)
        _find.check(path)
        reader, writer = await asyncio.wait_for(asyncio.open_unix_connection(path), limit)
        try:
            _find.check_peer(writer.get_extra_info("socket"), path)
        except BaseException:
            writer.close()
            raise
        return reader, writer
