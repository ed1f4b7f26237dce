"""obstat_sdk has obstat decide the tool calls of AI agents: allow, ask a person, or deny.

    decision = authorize(Call("Bash", {"command": "git status"}))
    if decision.allowed:
        ...

The functions use one client for the process, `client()`. Approvals stay in the server: a
decision holds the id of a request, and only the server says whether a person has approved it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ._types import BadCall, Call, ConfigError, Decision, Denied, Effect, ObstatError, Pending, Printed, Rule, SocketError, VersionError
from ._version import __version__
from .client import AsyncClient, Client
from .confined import NotConfined, confined
from .guard import Guard

__all__ = [
    "AsyncClient",
    "BadCall",
    "Call",
    "Client",
    "ConfigError",
    "Decision",
    "Denied",
    "Effect",
    "Guard",
    "NotConfined",
    "ObstatError",
    "Pending",
    "Printed",
    "Rule",
    "SocketError",
    "VersionError",
    "__version__",
    "authorize",
    "claim",
    "client",
    "confined",
    "explain",
    "printed",
    "report",
    "run",
]

T = TypeVar("T")

_lock = threading.Lock()
_client: Client | None = None


def client() -> Client:
    """Returns the client that the functions of this module use."""
    global _client
    with _lock:
        if _client is None:
            _client = Client()
        return _client


def authorize(call: Call, *, wait: float = 0, claim: bool = True) -> Decision:
    """Decides a call; see `Client.authorize`."""
    return client().authorize(call, wait=wait, claim=claim)


def claim(id: str, call: Call) -> Decision:
    """Takes the approval of a request, to run this call once; see `Client.claim`."""
    return client().claim(id, call)


def report(id: str | None, ok: bool, words: str = "") -> None:
    """Says how a claimed call went; see `Client.report`."""
    client().report(id, ok, words)


def explain(call: Call) -> dict[str, Any]:
    """Shows how a call would be decided; see `Client.explain`."""
    return client().explain(call)


def printed(call: Call, output: Any, *, failed: bool = False) -> Printed:
    """Returns a tool's output without its secrets, to show it to the model; see `Client.printed`."""
    return client().printed(call, output, failed=failed)


def run(call: Call, fn: Callable[[dict[str, Any]], T], *, wait: float = 0) -> T:
    """Runs `fn` with the call's input if that is allowed; see `Client.run`."""
    return client().run(call, fn, wait=wait)
