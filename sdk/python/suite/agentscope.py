"""AgentScope: its permission engine on the other side, with rules for the suite's tools."""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar

import agentscope.agent
from agentscope.credential import CredentialBase
from agentscope.event import ConfirmResult, UserConfirmResultEvent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import TextBlock, ToolCallBlock, UserMsg
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.permission import PermissionBehavior, PermissionContext, PermissionDecision, PermissionMode, PermissionRule
from agentscope.state import AgentState
from agentscope.tool import FunctionTool, Toolkit
from pydantic import BaseModel

from obstat_sdk import ConfigError
from obstat_sdk.adapters.agentscope import protect

from .cases import SUB, Driver, Turn, Use, World

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

    async def _call_api(self, *_: Any, **__: Any) -> Any:
        turn: Turn = self.turns[self.at] if self.at < len(self.turns) else "end"
        at, self.at = self.at, self.at + 1
        content: list[Any]
        if isinstance(turn, str):
            content = [TextBlock(text=turn)]
        else:
            content = [ToolCallBlock(id=self.world.id(at, i), name=n, input=json.dumps(a)) for i, (n, a) in enumerate(turn)]
        return ChatResponse(content=content, is_last=True)


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


CHECKS = [own_ask_is_answered, no_engine]
