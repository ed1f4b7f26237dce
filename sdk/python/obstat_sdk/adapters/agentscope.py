"""AgentScope 2: obstat beside its permission engine, with its own confirm flow.

    agent = protect(Agent("clerk", "You pay bills.", model, Toolkit([FunctionTool(pay)])))

The stricter of both decides. What the agent's PermissionContext (a mode, a rule) or a tool's own
`check_permissions` denies stays denied, what an ask rule or a tool's safety check asks stays asked;
obstat's allow lifts the other questions, as AgentScope's own allow rules do. An ask is the framework's `RequireUserConfirmEvent`. A
`UserConfirmResultEvent` answers what AgentScope itself has asked, for the same call; for obstat it
makes it look again: what it confirms, with which name, input and rules, is no verdict.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, TypeVar

from agentscope.message import TextBlock, ToolCallState, ToolResultState
from agentscope.permission import PermissionBehavior, PermissionDecision, PermissionEngine
from agentscope.tool import ToolChunk, ToolResponse

from .._types import BadCall, ConfigError, decode_input
from ..guard import Checked, Guard, copied

__all__ = ["ObstatEngine", "protect"]

A = TypeVar("A")

_now: ContextVar[Any] = ContextVar("obstat_tool_call", default=None)


class ObstatEngine(PermissionEngine):
    """Answers in place of AgentScope's engine, which it asks as well."""

    def __init__(self, own: PermissionEngine, guard: Guard, session: str = "") -> None:
        super().__init__(own.context)
        self.own, self.guard, self.session = own, guard, session
        self._parsed: dict[str, tuple[str, dict[str, Any]]] = {}
        self._asked: dict[str, tuple[str, str]] = {}  # what AgentScope has asked about, by the call's id
        self._tools: dict[str, Any] = {}

    def add_rule(self, rule: Any) -> None:
        """Drops a rule that came with a confirmation: who sent it is not known."""

    async def check_permission(self, tool: Any, tool_input: dict[str, Any]) -> Any:
        """Decides a call. An approval is left where it is until the tool runs."""
        call, confirmed = _now.get() or (None, False)
        id = call.id if call is not None else None
        if call is not None:
            self._parsed[call.id], self._tools[call.id] = (call.input, tool_input), tool
        own = await self._own(tool, tool_input)
        if own.behavior == PermissionBehavior.DENY:
            return own
        if own.behavior != PermissionBehavior.ALLOW and not await self._liftable(own, tool, tool_input) and not self._answered(call, confirmed):
            refused = await self.guard.refuses(tool.name, tool_input, session=self.session)
            return self._decision(refused, claimed=False) if refused is not None else own
        mine = self._decision(await self.guard.peek(tool.name, tool_input, id=id, session=self.session), claimed=False)
        if mine.behavior != PermissionBehavior.ALLOW:
            return mine
        if tool.is_external_tool:  # the application runs it, so that its approval is taken now
            return self._decision(await self.guard.acheck(tool.name, tool_input, id=id, session=self.session), claimed=True)
        return mine

    def _answered(self, call: Any, confirmed: bool) -> bool:
        """Tells whether a person has confirmed the very call that AgentScope has asked about."""
        if call is None:
            return False
        if confirmed and self._asked.get(call.id) == (call.name, call.input):
            return True
        self._asked[call.id] = (call.name, call.input)
        return False

    async def _own(self, tool: Any, tool_input: dict[str, Any]) -> Any:
        """Returns what AgentScope says; where it fails, no."""
        try:
            return await self.own.check_permission(tool, copied(tool_input))
        except Exception as e:
            words = f"Denied: AgentScope's own check failed: {type(e).__name__}: {e}"
            return PermissionDecision(behavior=PermissionBehavior.DENY, message=words, decision_reason=words)

    async def _liftable(self, own: Any, tool: Any, tool_input: dict[str, Any]) -> bool:
        """Tells whether AgentScope's question is one that its own allow rules lift: neither an ask
        rule's nor a safety question of the tool."""
        try:
            return not own.bypass_immune and not await self.own._check_ask_rules(tool, copied(tool_input))
        except Exception:
            return False

    def _decision(self, checked: Checked, claimed: bool) -> Any:
        """Returns a decision in AgentScope's words. What is not claimed yet is decided when it runs."""
        d = checked.decision
        if checked.asking and d.state == "pending" and self.guard.ask == "pause":
            return PermissionDecision(behavior=PermissionBehavior.ASK, message=d.reason, decision_reason=d.reason, suggested_rules=[], bypass_immune=True)
        if checked.allowed or (checked.asking and not claimed):
            return PermissionDecision(behavior=PermissionBehavior.ALLOW, message=d.reason, decision_reason=d.reason)
        return PermissionDecision(behavior=PermissionBehavior.DENY, message=checked.message, decision_reason=d.reason)

    async def take(self, call: Any) -> Checked:
        """Decides a call that is about to run, and takes its approval."""
        try:
            args = decode_input(call.input)
        except BadCall as e:
            seen = self._parsed.get(call.id)
            if seen is None or seen[0] != call.input:
                return Checked(e.decision, {})
            args = seen[1]  # AgentScope mends what models write badly
        checked = await self.guard.acheck(call.name, args, id=call.id, session=self.session)
        if checked.allowed and checked.decision.input is not None:  # changed by a person: AgentScope's denials hold for that, too
            tool = self._tools.get(call.id)
            own = await self._own(tool, checked.args) if tool is not None else None
            if own is not None and own.behavior == PermissionBehavior.DENY:
                return Checked(replace(checked.decision, effect="deny", reason=own.message), {})
        return checked


def protect(agent: A, guard: Guard | None = None) -> A:
    """Puts obstat beside an agent's permission engine, and around its tools. Raises `ConfigError`
    where the agent's own engine cannot be asked: its denials would be lost."""
    a: Any = agent
    own = getattr(a, "_engine", None)
    if not isinstance(own, PermissionEngine) or not hasattr(own, "_check_ask_rules"):
        raise ConfigError(f"the agent {getattr(a, 'name', a)} has no permission engine that can be asked beside obstat")
    engine = ObstatEngine(own, guard or Guard(agent="agentscope"), a.state.session_id)
    execute, act = a._execute_tool_call, a._acting_impl

    async def execute_tool_call(call: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        confirmed = call.state == ToolCallState.ALLOWED
        if confirmed:
            call.state = ToolCallState.PENDING  # a confirmation only makes it look again
        _now.set((call, confirmed))
        async for event in execute(call, *args, **kwargs):
            yield event

    async def acting(call: Any) -> AsyncGenerator[Any, None]:
        checked = await engine.take(call)
        if not checked.allowed:
            chunk = ToolChunk(content=[TextBlock(text=checked.message)], state=ToolResultState.DENIED)
            yield chunk
            yield ToolResponse(id=call.id).append_chunk(chunk)
            return
        ran = call.model_copy(update={"input": _text(checked)})
        try:
            async for item in act(ran):
                yield item
        except BaseException as e:
            await engine.guard.adone(checked, e)
            raise
        await engine.guard.adone(checked)

    a._engine, a._execute_tool_call, a._acting_impl = engine, execute_tool_call, acting
    return agent


def _text(checked: Checked) -> str:
    return json.dumps(checked.args, ensure_ascii=False)
