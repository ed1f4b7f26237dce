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
    agent's callbacks have left them, in every runner. Twice is as good as once."""
    _wrap(tool)
    if guard not in tool.__dict__["_obstat"]:
        tool.__dict__["_obstat"].append(guard)
    return tool


def _wrap(tool: BaseTool) -> None:
    """Puts obstat around a tool, once. Which guards decide a call hangs on the run that makes it: a
    tool may be shared by several."""
    if "_obstat" in tool.__dict__:
        return
    always: list[Guard] = []
    tool.__dict__["_obstat"] = always
    run = tool.run_async

    async def run_async(*, args: dict[str, Any], tool_context: Any) -> Any:
        taken: list[tuple[Guard, Checked]] = []
        for n, guard in enumerate(_guards(always, tool_context)):
            id = tool_context.function_call_id
            # Each guard's ask is one of its own: what the first has claimed is no other's.
            checked = await guard.acheck(tool.name, args, id=f"{id}#{n}" if n and id else id, session=tool_context.session.id)
            refused = _refused(checked, tool.name, tool_context)
            if refused is not None:
                for by, done in taken:
                    await by.adone(done, RuntimeError("another guard refused the call"))
                return refused
            args = checked.args
            taken.append((guard, checked))
        try:
            out = await run(args=args, tool_context=tool_context)
        except BaseException as e:
            for by, done in taken:
                await by.adone(done, e)
            raise
        for by, done in taken:
            await by.adone(done)
            out = await by.ashown(done, out)
        return out

    tool.__dict__["run_async"] = run_async


def _guards(always: list[Guard], tool_context: Any) -> list[Guard]:
    """Returns the guards of a call: those of the tool, and of the plugins of the runner that makes it."""
    found = [*always, *getattr(tool_context, "_obstat_guards", ())]
    manager = getattr(getattr(tool_context, "_invocation_context", None), "plugin_manager", None)
    found += [p.guard for p in getattr(manager, "plugins", ()) if isinstance(p, ObstatPlugin)]
    return list(dict.fromkeys(found))


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
        _wrap(tool)
        known: tuple[Guard, ...] = getattr(tool_context, "_obstat_guards", ())
        if self.guard not in known:
            tool_context._obstat_guards = (*known, self.guard)
        if not inspect.isasyncgenfunction(getattr(tool, "func", None)):
            return None
        # A tool that streams in a live session runs elsewhere: it is decided here.
        checked = await self.guard.acheck(tool.name, tool_args, id=tool_context.function_call_id, session=tool_context.session.id)
        return _refused(checked, tool.name, tool_context)
