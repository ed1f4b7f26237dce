"""AgentScope 2: obstat in place of its permission engine, with its own confirm flow.

    agent = protect(Agent("clerk", "You pay bills.", model, Toolkit([FunctionTool(pay)])))

An ask is the framework's `RequireUserConfirmEvent`. A `UserConfirmResultEvent` makes it look
again: what it confirms, with which name, input and rules, is no verdict.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextvars import ContextVar
from typing import Any, TypeVar

from agentscope.message import TextBlock, ToolCallState, ToolResultState
from agentscope.permission import PermissionBehavior, PermissionDecision, PermissionEngine
from agentscope.tool import ToolChunk, ToolResponse

from .._types import BadCall, decode_input
from ..guard import Checked, Guard

__all__ = ["ObstatEngine", "protect"]

A = TypeVar("A")

_now: ContextVar[Any] = ContextVar("obstat_tool_call", default=None)


class ObstatEngine(PermissionEngine):
    """Answers in place of AgentScope's engine. The rules that it is given are not obstat's."""

    def __init__(self, context: Any, guard: Guard, session: str = "") -> None:
        super().__init__(context)
        self.guard, self.session = guard, session
        self._parsed: dict[str, tuple[str, dict[str, Any]]] = {}

    def add_rule(self, rule: Any) -> None:
        """Drops a rule that came with a confirmation: who sent it is not known."""

    async def check_permission(self, tool: Any, tool_input: dict[str, Any]) -> Any:
        """Decides a call. An approval is left where it is until the tool runs."""
        call = _now.get()
        id = call.id if call is not None else None
        if call is not None:
            self._parsed[call.id] = (call.input, tool_input)
        if tool.is_external_tool:  # the application runs it, so that its approval is taken now
            return self._decision(tool, await self.guard.acheck(tool.name, tool_input, id=id, session=self.session))
        return self._decision(tool, await self.guard.peek(tool.name, tool_input, id=id, session=self.session))

    def _decision(self, tool: Any, checked: Checked) -> Any:
        d = checked.decision
        if checked.asking and d.state == "pending" and self.guard.ask == "pause":
            return PermissionDecision(behavior=PermissionBehavior.ASK, message=d.reason, decision_reason=d.reason, suggested_rules=[], bypass_immune=True)
        behavior = PermissionBehavior.ALLOW if checked.allowed or (checked.asking and not tool.is_external_tool) else PermissionBehavior.DENY
        return PermissionDecision(behavior=behavior, message=checked.message if behavior == PermissionBehavior.DENY else d.reason, decision_reason=d.reason)

    async def take(self, call: Any) -> Checked:
        """Decides a call that is about to run, and takes its approval."""
        try:
            args = decode_input(call.input)
        except BadCall as e:
            seen = self._parsed.get(call.id)
            if seen is None or seen[0] != call.input:
                return Checked(e.decision, {})
            args = seen[1]  # AgentScope mends what models write badly
        return await self.guard.acheck(call.name, args, id=call.id, session=self.session)


def protect(agent: A, guard: Guard | None = None) -> A:
    """Puts obstat in the place of an agent's permission engine, and around its tools."""
    a: Any = agent
    engine = ObstatEngine(a.state.permission_context, guard or Guard(agent="agentscope"), a.state.session_id)
    execute, act = a._execute_tool_call, a._acting_impl

    async def execute_tool_call(call: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        if call.state == ToolCallState.ALLOWED:
            call.state = ToolCallState.PENDING  # a confirmation only makes it look again
        _now.set(call)
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
