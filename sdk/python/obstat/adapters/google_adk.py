"""Google ADK: a plugin that decides every tool call right before the tool runs.

    runner = InMemoryRunner(agent, plugins=[ObstatPlugin()])

An ask becomes ADK's own request for confirmation. The user's confirmation makes the tool run
again, which looks again: what it says is no verdict, except that a no gives up.
"""

from __future__ import annotations

import inspect
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool

from ..guard import Checked, Guard

__all__ = ["ObstatPlugin", "protect"]


def protect(tool: BaseTool, guard: Guard) -> BaseTool:
    """Has a tool's calls decided where they run, with the arguments as other plugins and the
    agent's callbacks have left them. Twice is as good as once."""
    known: list[Guard] = tool.__dict__.setdefault("_obstat", [])
    if guard in known:
        return tool
    known.append(guard)
    run = tool.run_async

    async def run_async(*, args: dict[str, Any], tool_context: Any) -> Any:
        checked = await guard.acheck(tool.name, args, id=tool_context.function_call_id, session=tool_context.session.id)
        refused = _refused(checked, tool.name, tool_context)
        if refused is not None:
            return refused
        try:
            out = await run(args=checked.args, tool_context=tool_context)
        except BaseException as e:
            await guard.adone(checked, e)
            raise
        await guard.adone(checked)
        return out

    tool.__dict__["run_async"] = run_async
    return tool


def _refused(checked: Checked, name: str, tool_context: Any) -> dict[str, Any] | None:
    """Returns what the model is told of a call that does not run; None lets it run."""
    if checked.asking:
        said = tool_context.tool_confirmation
        if said is None or said.confirmed:
            tool_context.request_confirmation(hint=checked.decision.reason, payload=checked.question(name))
            tool_context.actions.skip_summarization = True
    return None if checked.allowed else {"error": checked.message}


class ObstatPlugin(BasePlugin):
    """Decides every tool call of a runner, those of sub-agents and of tools that are added later
    included. `AgentTool(include_plugins=False)` cuts an agent off from it."""

    def __init__(self, guard: Guard | None = None, name: str = "obstat") -> None:
        super().__init__(name)
        self.guard = guard or Guard(agent="google-adk")

    async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> dict[str, Any] | None:
        """Protects the tool that is about to run."""
        protect(tool, self.guard)
        if not inspect.isasyncgenfunction(getattr(tool, "func", None)):
            return None
        # A tool that streams in a live session runs elsewhere: it is decided here.
        checked = await self.guard.acheck(tool.name, tool_args, id=tool_context.function_call_id, session=tool_context.session.id)
        return _refused(checked, tool.name, tool_context)
