"""Pydantic AI: a capability around the function that runs a tool.

    agent = Agent(model, tools=[pay], output_type=[str, DeferredToolRequests], capabilities=[ObstatCapability()])

An ask ends the run with `DeferredToolRequests`; a run with `deferred_tool_results` looks again.
What the results say is no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from pydantic import BaseModel
from pydantic_ai import ApprovalRequired, CallDeferred, ToolReturn
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_core import to_jsonable_python

from .._types import MAX_DEPTH
from ..guard import Guard

__all__ = ["ObstatCapability"]


@dataclass
class ObstatCapability(AbstractCapability[Any]):
    """Decides every tool call of an agent, next to the tool: after other capabilities have
    changed the arguments. Agents that are called by tools need one of their own."""

    guard: Guard = field(default_factory=lambda: Guard(agent="pydantic-ai"))

    def get_ordering(self) -> CapabilityOrdering | None:
        """Asks for the place next to the tool."""
        return CapabilityOrdering(position="innermost")

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        """Runs the tool if that is allowed."""
        # The arguments as they are now, validated and perhaps changed.
        try:
            shown = _shown(args, 0)
        except Exception as e:
            return f"Denied: the arguments cannot be shown: {type(e).__name__}: {e}"
        checked = await self.guard.acheck(call.tool_name, shown, id=call.tool_call_id)
        if checked.asking:
            raise ApprovalRequired(metadata=checked.question(call.tool_name))
        if not checked.allowed:
            return checked.message
        if checked.decision.input is not None:
            try:
                args = _edited(ctx, call.tool_name, args, shown, checked.args)
            except Exception as e:
                await self.guard.adone(checked, e)
                return f"Denied: the changed arguments are not the tool's: {e}"
        try:
            out = await handler(args)
        except (ApprovalRequired, CallDeferred):
            raise
        except BaseException as e:
            await self.guard.adone(checked, e)
            raise
        await self.guard.adone(checked)
        if isinstance(out, ToolReturn):
            content = out.content if out.content is None else await self.guard.ashown(checked, out.content)
            return replace(out, return_value=await self.guard.ashown(checked, out.return_value), content=content)
        return await self.guard.ashown(checked, out)


def _shown(value: Any, depth: int) -> Any:
    """Returns a value as JSON, with everything that the tool gets: models by their fields' own names,
    those that leave something out of their JSON and secrets included."""
    if depth > MAX_DEPTH:
        raise ValueError("they are nested too deep")
    if hasattr(value, "get_secret_value"):
        return _shown(value.get_secret_value(), depth + 1)
    if isinstance(value, BaseModel):
        return {k: _shown(v, depth + 1) for k, v in {**value.__dict__, **(value.model_extra or {})}.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _shown(getattr(value, f.name), depth + 1) for f in fields(value)}
    if isinstance(value, Mapping):
        return {k if isinstance(k, str) else str(to_jsonable_python(k)): _shown(v, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_shown(v, depth + 1) for v in value]
    return to_jsonable_python(value)


def _edited(ctx: Any, name: str, args: dict[str, Any], shown: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments that a person has changed as the tool takes them, with its models and
    dates; those that are as they were stay the same objects."""
    tool = ctx.tool_manager.tools[name]
    read: dict[str, Any] = tool.args_validator.validate_python(changed, by_name=True, by_alias=True, context=ctx.validation_context)
    return {k: args[k] if k in args and k in changed and changed[k] == shown.get(k) else v for k, v in read.items()}
