"""adk-fluent: its PermissionPlugin with a handler on the other side."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, ClassVar

from adk_fluent import Agent as Fluent
from adk_fluent import PermissionPlugin, PermissionPolicy
from adk_fluent._permissions._mode import ALL_MODES
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool

from obstat_sdk import Client
from obstat_sdk.adapters import adk_fluent as drop_in
from obstat_sdk.adapters.adk_fluent import ObstatPermissionPlugin
from obstat_sdk.adapters.google_adk import ObstatPlugin

from . import bad, google_adk
from .cases import SUB, NotThere, Turn, Use, World

PACKAGE = "adk-fluent"
PRINTS = "Tool 'wipe' is in the permission deny list."
model = google_adk.model


class Agent(google_adk.Agent):
    """The agent of Google ADK's suite, made with adk-fluent."""

    notes: ClassVar = {k: v for k, v in google_adk.Agent.notes.items() if not k[1]}

    def fluent(self, name: str, turns: list[Turn], more: list[Any]) -> Any:
        w = self.world
        out = Fluent(name).model(google_adk.Script(model="m", world=w, turns=turns))
        for tool in (w.safe, w.pay, w.wipe, *more):
            out = out.tool(tool)
        return out.build()

    def build(self) -> None:
        w = self.world
        more = [AgentTool(self.fluent("helper", SUB, []))] if self.sub else []
        self.agent = self.fluent("outer", self.turns, more)
        policy = PermissionPolicy(allow=frozenset({"safe", "helper"}), ask=frozenset({"pay"}), deny=frozenset({"wipe"}))
        plugin = PermissionPlugin(policy, handler=lambda *_: False) if w.own else ObstatPermissionPlugin(w.guard())
        self.runner = InMemoryRunner(self.agent, app_name="suite", plugins=[plugin])

    def resume(self, edit: dict[str, Any] | None = None, tool: str | None = None) -> None:
        if self.world.own:
            raise NotThere("a handler answers at once, and nothing is resumed")
        super().resume(edit, tool)


MODES = [(mode, rule) for mode in sorted(ALL_MODES) for rule in ("none", "allow", "ask", "deny", "mutating")]


def attempt(w: World, mode: str, rule: str, call: Use) -> str:
    """Makes one call under a policy of adk-fluent's own; with obstat, beside its plugin."""
    name, asked = call[0], []
    lists: dict[str, Any] = {rule: frozenset({name})} if rule in ("allow", "ask", "deny") else {}
    if rule == "mutating":
        lists["mutating_tools"] = frozenset({name})
    own = PermissionPlugin(PermissionPolicy(mode=mode, **lists), handler=lambda *a: bool(asked.append(a)))
    agent = Fluent("outer").model(google_adk.Script(model="m", world=w, turns=[[call], "end"])).tool(getattr(w, name)).build()
    runner = InMemoryRunner(agent, app_name="suite", plugins=[own] if w.own else [own, ObstatPlugin(w.guard())])
    events = google_adk.run_once(runner, w)
    asked += [c for e in events for c in e.get_function_calls() if c.name == google_adk.CONFIRM]
    return "ran" if w.ran else "asked" if asked else "refused"


def whatever_goes_wrong_denies(w: World) -> None:
    """No server, another version, nonsense, silence, a policy of a newer release, a check that raises or answers nonsense."""
    allow = frozenset({"bash"})
    try:
        with bad.servers() as places:
            for name, address in places.items():
                drop_in.use(Client(address, timeout=1))
                said = drop_in.PermissionPolicy(allow=allow).check("bash", {"command": "ls"})
                assert said.is_deny and said.reason and address.removeprefix("unix:") not in said.reason, (name, said)
        drop_in.use(Client(w.server.address))

        @dataclass(frozen=True)
        class Newer(PermissionPolicy):
            never: frozenset[str] = frozenset()

        Newer.__module__ = "adk_fluent._permissions._policy"
        ask = drop_in.make_permission_callback
        bash = Named("bash")
        told = ask(Newer(allow=allow, never=allow))(tool=bash, args={}, tool_context=None)
        assert "'never'" in told["error"] and ask(Newer(allow=allow))(tool=bash, args={}, tool_context=None) is None, told

        @dataclass(frozen=True)
        class Mine(drop_in.PermissionPolicy):
            root: str = "/srv"
            answer: Any = None

            def check(self, tool_name: str, tool_input: Any = None) -> Any:
                if self.answer == "raise":
                    raise RuntimeError("the check broke")
                return super().check(tool_name, tool_input) if self.answer == "own" else self.answer

        assert ask(Mine(allow=allow, answer="own"))(tool=bash, args={}, tool_context=None) is None
        for answer, words in (("raise", "the check broke"), (None, "could not be decided"), ("allow", "could not be decided")):
            told = ask(Mine(allow=allow, answer=answer))(tool=bash, args={}, tool_context=None)
            assert words in told["error"], (answer, told)
            plugin = drop_in.permission_plugin(Mine(allow=allow, answer=answer))
            told = asyncio.run(plugin.before_tool_callback(tool=bash, tool_args={}, tool_context=None))
            assert told is not None and words in told["error"], (answer, told)
    finally:
        drop_in.use(None)


def equal_calls_ask_once(w: World) -> None:
    """Equal arguments in another order, at the same time and after it, are one question, and its answer stands."""
    drop_in.use(Client(w.server.address))
    asked: list[Any] = []

    async def handler(name: str, args: Any, _: Any) -> bool:
        asked.append(args)
        await asyncio.sleep(0)
        return len(asked) == 1  # another answer would be a no

    async def go() -> list[Any]:
        plugin = drop_in.permission_plugin(drop_in.H.ask_before("pay"), handler=handler, memory=drop_in.H.approval_memory())
        given: list[dict[str, Any]] = [{"to": "bob", "n": 1}, {"n": 1, "to": "bob"}]
        put = [plugin.before_tool_callback(tool=Named("pay"), tool_args=dict(a), tool_context=None) for a in given]
        return [*await asyncio.gather(*put), await plugin.before_tool_callback(tool=Named("pay"), tool_args=given[1], tool_context=None)]

    try:
        assert asyncio.run(go()) == [None, None, None] and len(asked) == 1, asked
    finally:
        drop_in.use(None)


CHECKS = [whatever_goes_wrong_denies, equal_calls_ask_once]


def document() -> dict[str, Any]:
    """The names that adk-fluent's document takes for granted."""
    from obstat_sdk.adapters.adk_fluent import PermissionDecision, PermissionPolicy

    return {"decision": PermissionDecision.allow(), "PermissionPolicy": PermissionPolicy, "approve_sync": lambda *_: True}


def documented(names: dict[str, Any]) -> None:
    """Tries what the examples of the document say."""
    policy, clamp = names["policy"], names["ClampPathsPolicy"](allow=frozenset({"read_file"}))
    assert policy.check("read_file").is_allow and policy.check("get_secret").reason == "Tool 'get_secret' matches a deny pattern."
    assert policy.check("bash").prompt == "Allow tool 'bash'?"
    assert clamp.check("read_file", {"path": "/etc/passwd"}).reason == "refusing to read /etc/*"
    assert clamp.check("read_file", {"path": "a/../b"}).updated_input == {"path": "a//b"}
    assert names["plugin"].name == "adkf_permission_plugin" and names["plugin"].policy.ask == frozenset({"bash", "edit_file"})
    assert names["cb"](tool=Named("bash"), args={"cmd": "ls"}, tool_context=None) is None
    assert names["mem"].recall("bash", {"cmd": "ls"}) is None


class Named:
    """A tool of that name."""

    def __init__(self, name: str) -> None:
        self.name = name
