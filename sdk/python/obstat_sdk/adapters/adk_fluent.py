"""adk-fluent: its permissions, decided by obstat.

    from obstat_sdk.adapters.adk_fluent import H, PermissionPolicy  # in place of adk_fluent's

    plugin = H.permission_plugin(H.ask_before("bash"), handler=approve, memory=H.approval_memory())

Policies, factories, `merge`, handlers and `ApprovalMemory` are adk-fluent's; `check` is put to obstat's
engine, with the policy as it is, in adk-fluent's words. obstat looks at the arguments as well: what an
allowed tool would do to a denied one's files is not allowed. Whatever goes wrong denies.

`ObstatPermissionPlugin` decides by the policy that the server has in force, with people who answer there.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Protocol

from adk_fluent import ApprovalMemory, PermissionDecision, PermissionMode
from adk_fluent import H as _H
from adk_fluent import PermissionPlugin as _Plugin
from adk_fluent import PermissionPolicy as _Policy

from .. import client as _client
from .._types import Call, ObstatError, told
from ..guard import Guard, copied
from .google_adk import ObstatPlugin

__all__ = [
    "ApprovalMemory",
    "H",
    "ObstatPermissionPlugin",
    "PermissionDecision",
    "PermissionMode",
    "PermissionPlugin",
    "PermissionPolicy",
    "make_permission_callback",
    "permission_plugin",
    "use",
]

LISTS = ("allow", "deny", "ask", "allow_patterns", "deny_patterns", "ask_patterns", "mutating_tools")


class Judge(Protocol):
    """Decides by a policy that comes with the call: `Client`, or `obstat_sdk.wasm.Trials` in this process."""

    def decide_by(self, policy: Mapping[str, Any], call: Call, said: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Returns the decision."""


_judge: Judge | None = None


def use(judge: Judge | None) -> None:
    """Has policies decided by another judge than the server: `use(Trials())` by the engine in this process."""
    global _judge
    _judge = judge


def _known(policy: Any) -> None:
    """Raises where a policy of a newer adk-fluent says something that obstat does not read: it could forbid. Fields of
    a program's own subclass are for its own `check`."""
    for kind in type(policy).__mro__:
        if kind.__module__.partition(".")[0] == "adk_fluent" and is_dataclass(kind):
            more = [f.name for f in fields(kind) if f.name not in (*LISTS, "mode", "pattern_mode") and getattr(policy, f.name, None)]
            if more:
                raise ObstatError(f"the permission policy has {more[0]!r}, which this version of obstat does not know")


def _file(p: Any) -> str:
    lists = {k: sorted(getattr(p, k)) if isinstance(getattr(p, k), frozenset) else list(getattr(p, k)) for k in LISTS}
    return json.dumps({"mode": p.mode, "pattern_mode": p.pattern_mode, **lists})


def _decide(policy: Any, name: str, args: Mapping[str, Any] | None) -> Any:
    """Has obstat decide by the fields of a policy."""
    try:
        _known(policy)
        files = getattr(policy, "parts", ()) or (_file(policy),)
        put = {"dialect": "adkfluent", "files": [{"name": "permissions.json", "text": text} for text in files]}
        out = (_judge or _client()).decide_by(put, Call(name, copied(args or {}), agent="adk-fluent", mode=policy.mode))
        words = out.get("words")
        if not isinstance(words, dict) or words.get("behavior") != out["verdict"]:
            raise ObstatError("the decision has no words of adk-fluent's")
        if words["behavior"] == "allow":
            return PermissionDecision.allow(updated_input=words.get("updated_input"))
        if words["behavior"] == "ask":
            return PermissionDecision.ask(str(words["prompt"]))
        return PermissionDecision.deny(str(words["reason"]))
    except Exception as e:
        return PermissionDecision.deny(f"Tool '{name}' was denied: {told(e)}.")


STRICTNESS = {"deny": 0, "ask": 1, "allow": 2}


def _check(policy: Any, name: str, args: dict[str, Any] | None) -> Any:
    """Decides a call by any policy. A subclass's own `check` counts as well: the stricter of both, and
    arguments that it rewrites are decided again: they get no more than those that the model wrote."""
    if isinstance(policy, PermissionPolicy) or type(policy).check is _Policy.check:
        said = policy.check(name, args) if isinstance(policy, PermissionPolicy) else _decide(policy, name, args)
    else:
        mine, said = _decide(policy, name, args), policy.check(name, args)
        if STRICTNESS[mine.behavior] < STRICTNESS[said.behavior]:
            return mine
    if said.is_allow and said.updated_input is not None:
        before, again = _decide(policy, name, args), _decide(policy, name, said.updated_input)
        return again if STRICTNESS[again.behavior] < STRICTNESS[before.behavior] else said
    return said


@dataclass(frozen=True)
class PermissionPolicy(_Policy):
    """adk-fluent's policy, whose `check` is obstat's."""

    parts: tuple[str, ...] = field(default=(), compare=False, repr=False, kw_only=True)
    """The policies that it was merged of, where one has globs and another regular expressions: each pattern keeps its meaning."""

    def check(self, tool_name: str, tool_input: dict[str, Any] | None = None) -> Any:
        """Decides a call of a tool."""
        return _decide(self, tool_name, tool_input)

    def merge(self, other: Any) -> Any:
        """Combines two policies as adk-fluent does. A subclass stays one; two of them with checks of their own raise ValueError."""
        kinds = [type(p) for p in (self, other) if type(p).check not in (PermissionPolicy.check, _Policy.check)]
        if len(set(kinds)) > 1:
            raise ValueError(f"{kinds[0].__name__} and {kinds[1].__name__} have checks of their own: a merged policy would lose one")
        mixed = self.pattern_mode != other.pattern_mode and any(getattr(p, k) for p in (self, other) for k in LISTS if k.endswith("patterns"))
        theirs = getattr(other, "parts", ())
        parts = (*(self.parts or (_file(self),)), *(theirs or (_file(other),))) if mixed or self.parts or theirs else ()
        return _own(_Policy.merge(self, other), kinds[0] if kinds else type(self), parts)

    def with_mode(self, mode: str) -> Any:
        """Returns the policy in another mode."""
        return _own(_Policy.with_mode(self, mode), type(self), self.parts)


def _own(policy: Any, kind: Any = PermissionPolicy, parts: tuple[str, ...] = ()) -> Any:
    """Returns a policy of adk-fluent's as one that obstat decides."""
    values = {f.name: getattr(policy, f.name) for f in fields(_Policy)}
    return kind(**values, parts=parts) if issubclass(kind, PermissionPolicy) else kind(**values)


class PermissionPlugin(_Plugin):
    """adk-fluent's plugin for a policy, with obstat's decisions. A handler sees a copy of the arguments, and is
    asked once for calls that are equal if there is a memory: also while it answers."""

    def __init__(self, policy: Any, *, handler: Any = None, memory: Any = None, name: str = "adkf_permission_plugin") -> None:
        super().__init__(policy, handler=handler, memory=memory, name=name)
        self._flights: dict[str, asyncio.Future[Any]] = {}

    async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> dict[str, Any] | None:
        """Decides a call before its tool runs: None lets it run."""
        name = getattr(tool, "name", str(tool))
        try:
            said = await asyncio.to_thread(_check, self.policy, name, tool_args)
            if said.is_ask:
                said = await self._asked(name, tool_args, said)
        except Exception as e:
            return {"error": f"Tool '{name}' was denied: {told(e)}"}
        if not said.is_allow:
            return {"error": said.reason or f"Tool '{name}' denied."}
        self._apply_updated_input(tool_args, said)
        return None

    async def _asked(self, name: str, args: dict[str, Any], said: Any) -> Any:
        """Answers an ask, once at a time for equal calls that are remembered."""
        seen = copied(args)
        if self.memory is None:
            return await self._resolve_ask(name, seen, said)
        key = json.dumps([name, seen], sort_keys=True)
        while key in self._flights:
            await asyncio.wait([self._flights[key]])
        flight = self._flights[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._resolve_ask(name, seen, said)
        finally:
            del self._flights[key]
            flight.set_result(None)


def permission_plugin(policy: Any, handler: Any = None, memory: Any = None) -> PermissionPlugin:
    """Returns the plugin for a policy; see `PermissionPlugin`."""
    return PermissionPlugin(policy, handler=handler, memory=memory)


def make_permission_callback(policy: Any, handler: Callable[[str, dict[str, Any]], bool] | None = None, memory: Any = None) -> Callable[..., Any]:
    """Returns a `before_tool_callback` for one agent. Its handler is not asynchronous: one that returns an
    awaitable has not answered, and the call is denied."""

    def ask(name: str, args: dict[str, Any]) -> str | None:
        if memory is not None and (recalled := memory.recall(name, args)) is not None:
            return None if recalled else f"Tool '{name}' was previously denied."
        if handler is None:
            return f"Tool '{name}' requires approval but no handler is installed."
        try:
            granted = handler(name, copied(args))
            if inspect.isawaitable(granted):
                getattr(granted, "close", lambda: None)()
                raise TypeError("an asynchronous handler cannot answer here; use PermissionPlugin")
        except Exception as e:
            return f"Permission handler raised: {e}"
        if memory is not None:
            memory.remember_specific(name, args, bool(granted))
        return None if granted else f"Tool '{name}' was denied by the user."

    def callback(*, tool: Any, args: dict[str, Any], tool_context: Any, **_: Any) -> Any | None:
        name = getattr(tool, "name", str(tool))
        try:
            said = _check(policy, name, args)
            why = (said.reason or f"Tool '{name}' denied.") if said.is_deny else ask(name, args) if said.is_ask else None
        except Exception as e:
            why = f"Tool '{name}' was denied: {told(e)}"
        if why is not None:
            return {"error": why}
        if said.updated_input is not None:
            args.clear()
            args.update(said.updated_input)
        return None

    return callback


class H(_H):  # type: ignore[valid-type, misc]
    """adk-fluent's namespace, whose policies and plugin are obstat's."""

    permission_plugin = staticmethod(permission_plugin)


def _factory(name: str) -> Any:
    made = getattr(_H, name)

    @functools.wraps(made)
    def factory(*args: Any, **kwargs: Any) -> Any:
        return _own(made(*args, **kwargs))

    return staticmethod(factory)


for _name in (
    "permissions",
    "permissions_plan",
    "permissions_bypass",
    "permissions_accept_edits",
    "permissions_dont_ask",
    "ask_before",
    "auto_allow",
    "deny",
    "allow_patterns",
    "deny_patterns",
):
    setattr(H, _name, _factory(_name))


class ObstatPermissionPlugin(ObstatPlugin):
    """Takes the place of `adk_fluent.PermissionPlugin`, and its name among the plugins: the policy is the
    server's. adk-fluent asks a handler that answers at once, so that an ask waits for the person here;
    `Guard(ask="pause")` uses ADK's own confirmation in its place."""

    def __init__(self, guard: Guard | None = None, name: str = "adkf_permission_plugin") -> None:
        super().__init__(guard or Guard(agent="adk-fluent", ask="wait"), name)
