"""AgentScope: its permission engine on the other side, with rules for the suite's tools."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from typing import Any, ClassVar, cast

import agentscope.agent
from agentscope.credential import CredentialBase
from agentscope.event import ConfirmResult, UserConfirmResultEvent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import TextBlock, ToolCallBlock, UserMsg
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.permission import PermissionBehavior, PermissionContext, PermissionDecision, PermissionMode, PermissionRule
from agentscope.state import AgentState
from agentscope.tool import Bash, FunctionTool, Toolkit, Write
from pydantic import BaseModel

from obstat_sdk import AsyncClient, Call, Client, ConfigError
from obstat_sdk.adapters.agentscope import PermissionEngine, protect

from . import bad
from .cases import SUB, Driver, Turn, Use, World
from .server import Server

PACKAGE = "agentscope"
PRINTS = "Permission to use wipe has been denied"


class Credential(CredentialBase):
    """None."""

    @classmethod
    def get_chat_model_class(cls) -> Any:
        return Script


class Script(ChatModelBase):
    """Does what the turn says: as many turns are over as it was asked, or as the state tells."""

    class Parameters(BaseModel):
        """None."""

    def __init__(self, world: World, turns: list[Turn], at: int = 0) -> None:
        super().__init__(credential=Credential(), model="script", stream=False, parameters=Script.Parameters(), context_size=100_000)
        self.formatter = OpenAIChatFormatter()
        self.world, self.turns, self.at = world, turns, at

    async def _call_api(self, *given: Any, **more: Any) -> Any:
        self.world.saw((given, more.get("messages")))
        turn: Turn = self.turns[self.at] if self.at < len(self.turns) else "end"
        at, self.at = self.at, self.at + 1
        content: list[Any]
        if isinstance(turn, str):
            content = [TextBlock(text=turn)]
        else:
            content = [ToolCallBlock(id=self.world.id(at, i), name=n, input=json.dumps(a)) for i, (n, a) in enumerate(turn)]
        return ChatResponse(content=content, is_last=True)


def scripted(turns: list[Turn]) -> Any:
    """A model that does what the turns say, outside of the suite."""
    return Script(World(cast("Any", None), False, "unix:/none"), turns)


def model(w: World) -> Any:
    """The model of the page's example."""
    return Script(w, SUB)


def rules(behavior: Any, *tools: str) -> dict[str, list[Any]]:
    """Rules for whole tools."""
    return {t: [PermissionRule(tool_name=t, rule_content=None, behavior=behavior, source="suite")] for t in tools}


class Agent(Driver):
    """One agent; what is saved is its state as JSON."""

    notes: ClassVar = {
        ("forged", True): "the event is the approval: whoever can send one approves",
        ("replayed", True): "a state that is loaded twice runs the call twice",
        ("edited", True): "the confirmation's input takes the call's place, and the engine is not asked again",
        ("other-tool", True): "the confirmation's name takes the call's place: a denied tool runs",
        ("crash", True): "every process that loads the state runs the call",
    }

    def __init__(self, world: World, turns: list[Turn], **more: Any) -> None:
        super().__init__(world, turns, **more)
        self.state = self.fresh()
        self.build()

    def fresh(self) -> Any:
        allow, deny = PermissionBehavior.ALLOW, PermissionBehavior.DENY
        context = PermissionContext(allow_rules=rules(allow, "safe", "helper"), deny_rules=rules(deny, "wipe"))
        return AgentState(session_id=self.world.nonce, permission_context=context if self.world.own else PermissionContext())

    def agent(self, name: str, model: Script, tools: list[Any], state: Any) -> Any:
        out = agentscope.agent.Agent(name=name, system_prompt="You do what you are told.", model=model, toolkit=Toolkit(tools), state=state)
        return out if self.world.own else protect(out, self.world.guard())

    def tools(self) -> list[Any]:
        w = self.world
        return [FunctionTool(w.safe), FunctionTool(w.pay), FunctionTool(w.wipe)]

    def build(self, at: int = 0) -> None:
        w, tools = self.world, self.tools()
        if self.sub:

            async def helper(request: str) -> str:
                """Asks another agent."""
                inner = self.agent("inner", Script(w, SUB), self.tools(), self.fresh())
                return str((await inner.reply(UserMsg(name="user", content=request))).get_text_content())

            tools.append(FunctionTool(helper))
        self.outer = self.agent("outer", Script(w, self.turns, at), tools, self.state)

    def go(self, given: Any) -> None:
        async def run() -> None:
            if not self.stream:
                await self.outer.reply(given)
                return
            async for _ in self.outer.reply_stream(given):
                pass

        asyncio.run(run())
        self.state = self.outer.state

    def start(self) -> None:
        self.go(UserMsg(name="user", content="go on"))

    def resume(self, edit: dict[str, Any] | None = None, tool: str | None = None) -> None:
        asked = [b for m in self.state.context for b in m.get_content_blocks("tool_call") if b.state == "asking"]
        if not asked:
            return
        results = []
        for b in asked:
            changed = {"name": tool or b.name, "input": json.dumps(edit)} if edit is not None else {}
            results.append(ConfirmResult(confirmed=b.name == "pay", tool_call=b.model_copy(update=changed)))
        self.go(UserConfirmResultEvent(reply_id=self.state.reply_id, confirm_results=results))

    def save(self) -> Any:
        return self.state.model_dump_json()

    def load(self, saved: Any) -> None:
        self.state = AgentState.model_validate_json(saved)
        self.build(at=1)

    def add(self) -> None:
        self.outer.toolkit.tool_groups[0].tools.append(FunctionTool(self.world.wipe2))


MODES = [(m.value, rule) for m in PermissionMode for rule in ("none", "allow", "ask", "deny", "the tool asks", "the tool denies", "read-only")]


class Checked(FunctionTool):
    """A tool with a check of its own, as the document's DeployTool."""

    says = PermissionBehavior.PASSTHROUGH

    async def check_permissions(self, tool_input: Any, context: Any) -> Any:
        """Says what it is told to."""
        return PermissionDecision(behavior=self.says, message="the tool says so", bypass_immune=self.says == PermissionBehavior.ASK)


def attempt(w: World, mode: str, rule: str, call: Use) -> str:
    """Makes one call under a mode and a rule."""
    name, _ = call
    given: dict[str, Any] = {}
    if rule in ("allow", "ask", "deny"):
        given[rule + "_rules"] = rules(PermissionBehavior(rule), name)
    tool = Checked(getattr(w, name), is_read_only=rule == "read-only")
    if rule.startswith("the tool"):
        tool.says = PermissionBehavior.ASK if rule.endswith("asks") else PermissionBehavior.DENY
    state = AgentState(session_id=w.nonce, permission_context=PermissionContext(mode=PermissionMode(mode), **given))
    agent: Any = agentscope.agent.Agent(name="a", system_prompt="Do.", model=Script(w, [[call], "end"]), toolkit=Toolkit([tool]), state=state)
    if not w.own:
        protect(agent, w.guard())
    asyncio.run(agent.reply(UserMsg(name="user", content="go on")))
    if w.ran:
        return "ran"
    asking = [b for m in agent.state.context for b in m.get_content_blocks("tool_call") if b.state == "asking"]
    return "asked" if asking else "refused"


def own_ask_is_answered(w: World) -> None:
    """A confirmation answers what AgentScope has asked, for the same call, and nothing else."""
    for edit, ran in ((None, ["safe(1)"]), ({"x": 2}, [])):
        one = World(w.server, False)
        state = AgentState(session_id=one.nonce, permission_context=PermissionContext(ask_rules=rules(PermissionBehavior.ASK, "safe")))
        agent: Any = agentscope.agent.Agent(
            name="a", system_prompt="Do.", model=Script(one, [[("safe", {"x": 1})], "end"]), toolkit=Toolkit([FunctionTool(one.safe)]), state=state
        )
        protect(agent, one.guard())
        asyncio.run(agent.reply(UserMsg(name="user", content="go on")))
        assert not one.ran
        (asked,) = [b for m in agent.state.context for b in m.get_content_blocks("tool_call") if b.state == "asking"]
        said = asked.model_copy(update={"input": json.dumps(edit)} if edit else {})
        event = UserConfirmResultEvent(reply_id=agent.state.reply_id, confirm_results=[ConfirmResult(confirmed=True, tool_call=said)])
        asyncio.run(agent.reply(event))
        assert one.ran == ran, (edit, one.ran)


def no_engine(w: World) -> None:
    """An agent whose own engine cannot be asked is refused."""
    agent: Any = agentscope.agent.Agent(name="a", system_prompt="Do.", model=Script(w, ["end"]), toolkit=Toolkit([]))
    agent._engine = object()
    try:
        protect(agent, w.guard())
    except ConfigError:
        return
    raise AssertionError("it was protected")


def _reply(w: World, tool: Any, call: Use, *, mode: str = "default", limit: float = 10, judge: Any = None, **given: Any) -> Any:
    """Makes one call with the context as the policy; returns the agent."""
    state = AgentState(session_id=w.nonce, permission_context=PermissionContext(mode=PermissionMode(mode), **given))
    agent: Any = agentscope.agent.Agent(name="a", system_prompt="Do.", model=Script(w, [[call], "end"]), toolkit=Toolkit([tool]), state=state)
    protect(agent, judge=judge or AsyncClient(w.server.address), limit=limit)
    asyncio.run(agent.reply(UserMsg(name="user", content="go on")))
    return agent


def _told(agent: Any) -> str:
    """What the model was told of the call."""
    return str([b.output for m in agent.state.context for b in m.get_content_blocks("tool_result")])


def _asking(agent: Any) -> list[Any]:
    return [b for m in agent.state.context for b in m.get_content_blocks("tool_call") if b.state == "asking"]


def context_is_the_policy(w: World) -> None:
    """A confirmation with other spaces in its JSON is the same call, its rule goes into the context and settles
    the next one; another confirmation of the same call is refused; a replaced context counts."""
    one = World(w.server, False)
    agent = _reply(one, FunctionTool(one.safe), ("safe", {"x": 1}))
    (asked,) = _asking(agent)
    assert not one.ran and [r.rule_content for r in asked.suggested_rules] == [None], asked
    said = ConfirmResult(confirmed=True, tool_call=asked.model_copy(update={"input": '{ "x" :\n1 }'}), rules=asked.suggested_rules)
    event = UserConfirmResultEvent(reply_id=agent.state.reply_id, confirm_results=[said])
    asyncio.run(agent.reply(event))
    assert one.ran == ["safe(1)"] and [r.source for r in agent.state.permission_context.allow_rules["safe"]] == ["suggested"], one.ran
    with contextlib.suppress(ValueError):
        asyncio.run(agent.reply(event))
    assert one.ran == ["safe(1)"], one.ran
    agent.model.turns, agent.model.at = [[("safe", {"x": 2})], "end"], 0
    asyncio.run(agent.reply(UserMsg(name="user", content="again")))
    assert one.ran == ["safe(1)", "safe(2)"], one.ran
    agent.state.permission_context = PermissionContext(mode=PermissionMode.EXPLORE)
    agent.model.turns, agent.model.at = [[("safe", {"x": 3})], "end"], 0
    asyncio.run(agent.reply(UserMsg(name="user", content="again")))
    assert one.ran == ["safe(1)", "safe(2)"] and "explore mode is read-only" in _told(agent), (one.ran, _told(agent))


def whatever_goes_wrong_denies(w: World) -> None:
    """A check that raises, hangs or answers nonsense, no server, a context with fields that obstat does not know."""

    class Bad(FunctionTool):
        answer: Any = None

        async def check_permissions(self, tool_input: Any, context: Any) -> Any:
            if self.answer == "hang":
                await asyncio.sleep(3600)
            if self.answer == "raise":
                raise RuntimeError("the check broke")
            return self.answer

    allow = rules(PermissionBehavior.ALLOW, "safe")
    for answer, words in (("raise", "the check broke"), ("hang", "gave no answer"), (None, "no PermissionDecision"), ("allow", "no PermissionDecision")):
        one = World(w.server, False)
        tool = Bad(one.safe)
        tool.answer = answer
        agent = _reply(one, tool, ("safe", {"x": 1}), limit=0.2 if answer == "hang" else 10, allow_rules=allow)
        assert not one.ran and words in _told(agent), (answer, one.ran, _told(agent))
    with bad.servers() as places:
        for name, address in places.items():
            one = World(w.server, False)
            agent = _reply(one, FunctionTool(one.safe), ("safe", {"x": 1}), judge=AsyncClient(address, timeout=1), allow_rules=allow)
            assert not one.ran and any(x in _told(agent) for x in ("read as a decision", "could not be asked")), (name, one.ran, _told(agent))
            assert address.removeprefix("unix:") not in _told(agent), (name, _told(agent))

    class Newer(PermissionContext):
        never: list[str] = ["safe"]  # noqa: RUF012

    told = asyncio.run(PermissionEngine(Newer(allow_rules=allow), judge=AsyncClient(w.server.address)).check_permission(FunctionTool(one.safe), {"x": 1}))
    assert told.behavior == PermissionBehavior.DENY and "never" in told.message, told


def accepted_rule_goes_to_both(w: World) -> None:
    """Beside a policy that asks, a confirmation with a rule, for a person whose token the program has, answers there and
    here: the rule is in the context and in obstat, and the next call runs. Without the token obstat goes on asking."""
    server = Server('{"mode": "default"}', "permission_context.json", ("--dialect", "agentscope"))

    def asked(one: World, person: AsyncClient | None) -> Any:
        state = AgentState(session_id=one.nonce, permission_context=PermissionContext(mode=PermissionMode.BYPASS))
        model = Script(one, [[("safe", {"x": 1})], "end"])
        agent: Any = agentscope.agent.Agent(name="a", system_prompt="Do.", model=model, toolkit=Toolkit([FunctionTool(one.safe)]), state=state)
        protect(agent, one.guard(), person=person)
        asyncio.run(agent.reply(UserMsg(name="user", content="go on")))
        (call,) = _asking(agent)
        assert not one.ran and bool(call.suggested_rules) == bool(person), call
        said = ConfirmResult(confirmed=True, tool_call=call, rules=call.suggested_rules)
        asyncio.run(agent.reply(UserConfirmResultEvent(reply_id=agent.state.reply_id, confirm_results=[said])))
        return agent

    try:
        one = World(server, False)
        asked(one, None)
        elsewhere = Call("safe", {"x": 9}, session="elsewhere", dir=os.getcwd())
        assert not one.ran and Client(server.address).authorize(elsewhere).effect == "ask", one.ran
        one = World(server, False)
        agent = asked(one, AsyncClient(server.address, token=server.person))
        assert one.ran == ["safe(1)"] and agent.state.permission_context.allow_rules["safe"], one.ran
        assert Client(server.address).authorize(elsewhere).allowed, "the rule is obstat's as well"
        agent.model.turns, agent.model.at = [[("safe", {"x": 2})], "end"], 0
        asyncio.run(agent.reply(UserMsg(name="user", content="again")))
        assert one.ran == ["safe(1)", "safe(2)"], one.ran
    finally:
        server.close()


CHECKS = [accepted_rule_goes_to_both, own_ask_is_answered, no_engine, context_is_the_policy, whatever_goes_wrong_denies]


def document() -> dict[str, Any]:
    """The names that AgentScope's document takes for granted."""
    suggested = rules(PermissionBehavior.ALLOW, "Bash")["Bash"][0]
    return {"suggested_rule": suggested, "PermissionRule": PermissionRule, "PermissionBehavior": PermissionBehavior}


def documented(names: dict[str, Any]) -> None:
    """Tries what the examples of the document say: the last agent is the one with BYPASS, and MyTool is the custom tool."""

    async def said(tool: Any, **given: Any) -> str:
        return str((await names["agent"]._engine.check_permission(tool, given)).behavior.value)

    async def tried() -> list[str]:
        out = [await said(Bash(), command=c) for c in ("rm x", "git push", "make", "ls; rm x")]
        out += [await said(Write(), file_path=p) for p in ("/home/u/.bashrc", "/home/u/.ssh/config", "/home/u/notes")]
        mine = names["MyTool"]()
        names["agent"]._engine.context = PermissionContext(allow_rules=rules(PermissionBehavior.ALLOW, "MyTool"))
        return [*out, await said(mine, operation="delete", target="prod-db")]

    got = asyncio.run(tried())
    assert got == ["deny", "deny", "allow", "deny", "deny", "deny", "allow", "ask"], got
