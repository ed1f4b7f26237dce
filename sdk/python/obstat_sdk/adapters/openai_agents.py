"""OpenAI Agents SDK: an Agent whose function tools are decided right before they run.

    agent = ObstatAgent(name="clerk", model=model, tools=[pay])

An ask pauses the run (`result.interruptions`); `state.approve(item)` makes it go on and look
again: what the state says is no verdict, and before the answer the run pauses again. A tool's own `needs_approval` asks as before. Tools that
cannot be held, such as ShellTool and those that run at the provider, are refused.
"""

from __future__ import annotations

import copy
import functools
import json
from dataclasses import dataclass, field
from typing import Any

from agents import (
    Agent,
    CodeInterpreterTool,
    FileSearchTool,
    FunctionTool,
    HostedMCPTool,
    ImageGenerationTool,
    RunContextWrapper,
    Tool,
    WebSearchTool,
)

from .._types import ConfigError
from ..guard import Guard

__all__ = ["ObstatAgent", "protect"]

_HOSTED = (CodeInterpreterTool, FileSearchTool, HostedMCPTool, ImageGenerationTool, WebSearchTool)


def protect(tool: FunctionTool, guard: Guard) -> FunctionTool:
    """Returns a copy of a tool that is decided before it runs, for agents of any class."""
    name, invoker, needed = tool.name, tool.on_invoke_tool, tool.needs_approval
    # The function inside the framework's own handling of errors, which makes a text of an exception.
    inner = getattr(invoker, "_invoke_tool_impl", None)
    run = inner or invoker

    async def pause(ctx: RunContextWrapper[Any], args: dict[str, Any], call_id: str) -> bool:
        own = await needed(ctx, args, call_id) if callable(needed) else needed
        return bool(own) or await guard.needs_pause(name, args, id=call_id)

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
        return await guard.ashown(checked, out)

    out = copy.copy(tool)
    out.on_invoke_tool = invoke if inner is None else type(invoker)(invoke, invoker._on_handled_error, function_tool=out)  # type: ignore[attr-defined,call-arg]
    out.needs_approval = pause
    return out


def _look_again(context: RunContextWrapper[Any], guard: Guard) -> None:
    """Makes an approval in the run's state count only once the server has one too. A run that is resumed while `pay` still
    waits for a person would otherwise go on, and tell the model that `pay` has not run."""
    kind = type(context)
    if not hasattr(kind, "_obstat"):
        context.__class__ = _watched(kind)  # type: ignore[arg-type]  # of the class, for a state copies its context
    vars(context)["_obstat"] = guard


@functools.cache
def _watched(kind: type[Any]) -> type[Any]:
    def get_approval_status(self: Any, tool_name: str, call_id: str, **more: Any) -> bool | None:
        out: bool | None = kind.get_approval_status(self, tool_name, call_id, **more)
        item = more.get("current_invocation") or more.get("existing_pending")
        args = getattr(getattr(item, "raw_item", None), "arguments", None)
        if out is True and self._obstat is not None and isinstance(args, str) and self._obstat.still_asked(tool_name, args, id=call_id):
            return None
        return out

    return type(kind.__name__, (kind,), {"_obstat": None, "get_approval_status": get_approval_status})


@dataclass
class ObstatAgent(Agent[Any]):
    """An Agent of which every function tool is decided: its own, those of MCP servers, and those
    that are added while it runs. Other tools, and handoffs to agents that are no ObstatAgents, are
    refused with `ConfigError`; `hosted=True` lets tools stay that run at the provider, which nobody
    decides here. Agents that are its tools are to be ObstatAgents as well."""

    guard: Guard | None = None
    hosted: bool = False
    _protected: dict[int, tuple[Tool, Tool]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuses what cannot be decided."""
        super().__post_init__()
        for tool in self.tools:
            self._check(tool)
        self._check_handoffs()

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        """Returns the tools, protected."""
        if self.guard is None:
            self.guard = Guard(agent="openai-agents")
        self._check_handoffs()
        _look_again(run_context, self.guard)
        return [self._protect(t, self.guard) for t in await super().get_all_tools(run_context)]

    def _protect(self, tool: Tool, guard: Guard) -> Tool:
        self._check(tool)
        if not isinstance(tool, FunctionTool):
            return tool
        known = self._protected.get(id(tool))
        if known is None or known[0] is not tool:
            known = self._protected[id(tool)] = (tool, protect(tool, guard))
        return known[1]

    def _check(self, tool: Tool) -> None:
        if isinstance(tool, FunctionTool) or (self.hosted and isinstance(tool, _HOSTED)):
            return
        where = "it runs at the provider (hosted=True lets it)" if isinstance(tool, _HOSTED) else "only function tools can"
        raise ConfigError(f"the tool {getattr(tool, 'name', tool)} ({type(tool).__name__}) of the agent {self.name} cannot be guarded: {where}")

    def _check_handoffs(self) -> None:
        for to in self.handoffs:
            if isinstance(to, Agent) and not isinstance(to, ObstatAgent):
                raise ConfigError(f"the agent {self.name} hands off to {to.name}, which is no ObstatAgent: nobody would decide its calls")
