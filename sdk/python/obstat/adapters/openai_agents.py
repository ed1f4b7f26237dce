"""OpenAI Agents SDK: an Agent whose function tools are decided right before they run.

    agent = ObstatAgent(name="clerk", model=model, tools=[pay])

An ask pauses the run (`result.interruptions`); `state.approve(item)` makes it go on and look
again. What the state says is no verdict. Hosted tools run at the provider and cannot be held.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from typing import Any

from agents import Agent, FunctionTool, RunContextWrapper, Tool

from ..guard import Guard

__all__ = ["ObstatAgent", "protect"]


def protect(tool: FunctionTool, guard: Guard) -> FunctionTool:
    """Returns a copy of a tool that is decided before it runs, for agents of any class."""
    name, run = tool.name, tool.on_invoke_tool

    async def pause(_: RunContextWrapper[Any], args: dict[str, Any], call_id: str) -> bool:
        return await guard.needs_pause(name, args, id=call_id)

    async def invoke(ctx: Any, args: str) -> Any:
        checked = await guard.acheck(name, args, id=ctx.tool_call_id)
        if not checked.allowed:
            return checked.message
        try:
            out = await run(ctx, json.dumps(checked.args))
        except BaseException as e:
            await guard.adone(checked, e)
            raise
        await guard.adone(checked)
        return out

    out = copy.copy(tool)
    out.on_invoke_tool = invoke
    if guard.ask == "pause":
        out.needs_approval = pause
    return out


@dataclass
class ObstatAgent(Agent[Any]):
    """An Agent of which every function tool is decided: its own, those of MCP servers, and those
    that are added while it runs. Agents that it hands off to, or that are its tools, are to be
    ObstatAgents as well."""

    guard: Guard | None = None
    _protected: dict[int, tuple[Tool, Tool]] = field(default_factory=dict, repr=False, compare=False)

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        """Returns the tools, protected."""
        if self.guard is None:
            self.guard = Guard(agent="openai-agents")
        return [self._protect(t, self.guard) for t in await super().get_all_tools(run_context)]

    def _protect(self, tool: Tool, guard: Guard) -> Tool:
        if not isinstance(tool, FunctionTool):
            return tool
        known = self._protected.get(id(tool))
        if known is None or known[0] is not tool:
            known = self._protected[id(tool)] = (tool, protect(tool, guard))
        return known[1]
