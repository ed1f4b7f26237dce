"""Calls, decisions and errors."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, Literal, NamedTuple

Effect = Literal["allow", "ask", "deny"]

MAX_INPUT = 7 << 20
"""How many bytes an input may have as JSON; the server takes bodies of 8 MiB."""

MAX_DEPTH = 200
MAX_VALUES = 1_000_000


class ObstatError(Exception):
    """Something kept a call from being decided. `decision` is the deny that it means."""

    def __init__(self, reason: str, decision: Decision | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.decision = decision or Decision("deny", reason)


class BadCall(ObstatError):
    """The call cannot be sent: its input is not JSON, or too large."""


class ConfigError(ObstatError):
    """The server's address or the token makes no sense."""


class SocketError(ObstatError):
    """The socket is not the user's own: others could answer in the server's place."""


class VersionError(ObstatError):
    """What answers is no obstat server of this API's version."""


def told(e: Exception) -> str:
    """Says why a call could not be decided, without the places of this machine, which the log has: a model reads it."""
    if not isinstance(e, ObstatError):
        return f"the call could not be decided: {type(e).__name__}: {e}"
    kind = {VersionError: "version", SocketError: "socket", ConfigError: "configuration"}.get(type(e), e.decision.error)
    if kind in ("unreachable", "timeout", "unreadable", "version", "socket", "configuration"):
        logging.getLogger("obstat_sdk").warning("a call was denied: %s", e.reason)
        return f"the permission policy could not be asked ({kind})"
    return e.reason


def for_model(d: Decision) -> str:
    """Returns the reason of a decision for a model: a fault without the server's address, which the log has, and a rule's
    file, `deny rule "wipe" (/home/ann/app/opencode.json:1:30)`, by its name."""
    if d.error in ("unreachable", "timeout", "unreadable"):
        return told(ObstatError(d.reason, d))
    if d.rule is not None and os.path.isabs(d.rule.file):
        return d.reason.replace(d.rule.file, os.path.basename(d.rule.file))
    return d.reason


class Denied(ObstatError):
    """`run` did not run the call: it was denied."""


class Pending(ObstatError):
    """`run` did not run the call: a person is asked. `decision.id` names the request."""


@dataclass(frozen=True)
class Rule:
    """The rule that decided."""

    text: str
    verdict: str
    file: str = ""
    line: int = 0
    column: int = 0


@dataclass(frozen=True)
class Decision:
    """The answer to a call. Only `allow` lets it run: now, and once.

    `id` names the request that people were asked with. It is a handle, not a verdict: the
    approval stays in the server.
    """

    effect: Effect
    reason: str
    rule: Rule | None = None
    id: str | None = None
    state: str | None = None
    input: dict[str, Any] | None = None
    """Replaces the call's input, where a person or the policy has changed it."""
    safety: bool = False
    error: str | None = None
    """unreachable, timeout, unreadable or refused: the server's policy did not give this deny."""
    digest: str = ""

    @property
    def allowed(self) -> bool:
        """Tells whether the call may run."""
        return self.effect == "allow"


@dataclass(frozen=True)
class Printed:
    """A tool's output for the model, with `[masked]` in each secret's place. Without secrets it is the object that was given."""

    output: Any
    secrets: int = 0
    note: str = ""
    """A sentence about the secrets, for the model."""


@dataclass(frozen=True)
class Call:
    """One tool call.

    `id` is the framework's id of the call and `session` its thread or run: a call that is put
    again with both, after a resume or a crash, is the same ask. Other arguments make another
    call, which is decided anew.
    """

    tool: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    session: str = ""
    agent: str = ""
    user: str = ""
    dir: str | None = None
    """Where relative paths start; the process's working directory if not given."""
    roots: tuple[str, ...] = ()
    mode: str = ""
    roles: tuple[str, ...] = ()
    """Of the user."""
    subjects: tuple[str, ...] = ()
    """Texts that rules are matched against in place of the input, where the framework has made them."""

    def put(self) -> Put:
        """Writes the call down as the bytes that are sent. Raises `BadCall`."""
        if not isinstance(self.tool, str) or not self.tool:
            raise BadCall(f"a call's tool is a name, not {self.tool!r:.100}")
        raw = encode(self.input)
        try:
            tool = self.tool.encode()
            where = self.dir if self.dir is not None else os.getcwd()
        except UnicodeEncodeError:
            raise BadCall(f"the tool's name holds half a character: {self.tool!r:.100}") from None
        except OSError as e:
            raise BadCall(f"there is no working directory: {e}") from None
        rest = {"tool": self.tool, "dir": where}
        for name, text in (("agent", self.agent), ("session", self.session), ("user", self.user), ("mode", self.mode)):
            if text:
                rest[name] = text
        lists = {n: v for n, v in (("roots", self.roots), ("roles", self.roles), ("subjects", self.subjects)) if v}
        body = b'{"input":' + raw + b"," + _texts(rest, lists)[1:]
        sum = hashlib.sha256(len(tool).to_bytes(8, "big") + tool + len(raw).to_bytes(8, "big") + raw)
        digest = sum.hexdigest()
        key = None
        if self.id:
            key = hashlib.sha256("\0".join((self.session, self.id, digest)).encode("utf-8", "surrogatepass")).hexdigest()
        return Put(body, raw, digest, key)


class Put(NamedTuple):
    """A call as it is sent."""

    body: bytes
    raw: bytes  # the input
    digest: str
    key: str | None

    def input(self) -> dict[str, Any]:
        """Returns a copy of the input as it was sent, which nobody else can change."""
        out: dict[str, Any] = json.loads(self.raw)
        return out


class _Not(Exception):
    """A value that is not JSON; `path` is filled in on the way out."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.path: list[str] = []


def _check(value: object, depth: int, left: list[int]) -> None:
    """Raises where `value` is not plain JSON, or json.dumps would change it unseen."""
    left[0] -= 1
    if left[0] < 0:
        raise _Not(f"it has more than {MAX_VALUES:,} values")
    if value is None or isinstance(value, (str, bool, int, float)):
        if isinstance(value, float) and not math.isfinite(value):
            raise _Not(f"{value} is a number that JSON has no word for")
        return
    if not isinstance(value, (dict, list, tuple)):
        raise _Not(f"{type(value).__name__} is not JSON")
    if depth >= MAX_DEPTH:
        raise _Not(f"it is nested more than {MAX_DEPTH} deep, or holds itself")
    if isinstance(value, dict):
        for k, v in value.items():
            if not isinstance(k, str):
                raise _Not(f"the key {k!r:.60} is {type(k).__name__}, and JSON has strings as keys")
            try:
                _check(v, depth + 1, left)
            except _Not as e:
                e.path.append("." + k)
                raise
        return
    for i, v in enumerate(value):
        try:
            _check(v, depth + 1, left)
        except _Not as e:
            e.path.append(f"[{i}]")
            raise


# json.dumps would make one for each call.
_write = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def _texts(fields: dict[str, str], lists: dict[str, tuple[str, ...]]) -> bytes:
    """Returns an object of texts and of lists of texts. Raises `BadCall`.

    One call writes all of it: after a wait, with cold caches, a field at a time takes twice as long.
    """
    try:
        if all(isinstance(v, str) for v in fields.values()) and all(isinstance(v, str) for vs in lists.values() for v in vs):
            return _write({**fields, **lists} if lists else fields).encode()
    except UnicodeEncodeError:
        pass
    for name, values in [(n, (v,)) for n, v in fields.items()] + list(lists.items()):
        for value in values:
            if not isinstance(value, str):
                raise BadCall(f"{name} is text, not {type(value).__name__}")
            if any("\ud800" <= c <= "\udfff" for c in value):
                raise BadCall(f"{name} holds half a character (a lone surrogate), which no UTF-8 has")
    raise BadCall("the call cannot be written as JSON")


def encode(value: Mapping[str, Any], name: str = "input") -> bytes:
    """Returns an object as JSON: keys sorted, no spaces. Raises `BadCall` with the place."""
    if not isinstance(value, dict):
        if not isinstance(value, Mapping):
            raise BadCall(f"{name} is a JSON object, not {type(value).__name__}")
        value = dict(value)
    try:
        _check(value, 0, [MAX_VALUES])
        out = _write(value).encode()
    except _Not as e:
        path = "".join(reversed(e.path))
        raise BadCall(f"{name}{path if len(path) < 200 else path[:200] + '...'}: {e}") from None
    except UnicodeEncodeError as e:
        raise BadCall(f"{name}: half a character (a lone surrogate) at {e.start}, which no UTF-8 has") from None
    except (ValueError, TypeError, RecursionError, RuntimeError, MemoryError) as e:  # NaN; changed while it is written
        raise BadCall(f"{name}: {e}") from None
    if len(out) > MAX_INPUT:
        raise BadCall(f"{name} has {len(out):,} bytes; {MAX_INPUT:,} are the most")
    return out


def written(output: object) -> bytes:
    """Returns a tool's output as JSON; a part that JSON has no word for goes as its text. Raises `ObstatError`."""
    try:
        text = json.dumps(output, ensure_ascii=False, allow_nan=False, default=_plain)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(str(output), ensure_ascii=False)
    out = text.encode("utf-8", "replace")
    if len(out) > MAX_INPUT:
        raise ObstatError(f"the output has {len(out):,} bytes; {MAX_INPUT:,} are the most")
    return out


def _plain(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return None  # an image: a model reads no text in it
    if hasattr(value, "model_dump"):  # of pydantic
        return value.model_dump(mode="json")
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a key is there twice")
    return out


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def decode_input(text: str) -> dict[str, Any]:
    """Reads the arguments that a model wrote. A key that is there twice raises `BadCall`: the
    function could see another value than the policy."""
    try:
        out = json.loads(text or "{}", object_pairs_hook=_no_twins, parse_constant=_no_constant)
    except (ValueError, RecursionError) as e:
        raise BadCall(f"the arguments are not JSON: {e}") from None
    if not isinstance(out, dict):
        raise BadCall(f"the arguments are a JSON object, not {type(out).__name__}")
    return out
