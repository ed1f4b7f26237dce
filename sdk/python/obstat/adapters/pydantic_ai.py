"""Pydantic AI: a capability around the function that runs a tool.

    agent = Agent(model, tools=[pay], output_type=[str, DeferredToolRequests], capabilities=[ObstatCapability()])

An ask ends the run with `DeferredToolRequests`; a run with `deferred_tool_results` looks again.
What the results say is no verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import ApprovalRequired, CallDeferred
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_core import to_jsonable_python

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
        # The arguments as they are now, validated and perhaps changed; as JSON, since they may
        # hold dates and models.
        shown = to_jsonable_python(args)
        checked = await self.guard.acheck(call.tool_name, shown, id=call.tool_call_id)
        if checked.asking:
            raise ApprovalRequired(metadata=checked.question(call.tool_name))
        if not checked.allowed:
            return checked.message
        if checked.decision.input is not None:
            args = checked.args
        try:
            out = await handler(args)
        except (ApprovalRequired, CallDeferred):
            raise
        except BaseException as e:
            await self.guard.adone(checked, e)
            raise
        await self.guard.adone(checked)
        return out
