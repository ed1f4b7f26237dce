"""Claude Agent SDK: a PreToolUse hook, which the CLI asks before every tool call.

    gate = ObstatHooks()
    options = ClaudeAgentOptions(hooks=gate.hooks(), can_use_tool=gate.can_use_tool)

The hook is asked in every permission mode; `can_use_tool` only where the CLI would ask a person,
which `bypassPermissions`, `allowed_tools` and rules in settings files prevent. A hook that fails blocks.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from claude_agent_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny

from .._types import Call, told
from ..guard import Checked, Guard

__all__ = ["ObstatHooks"]


@dataclass(frozen=True)
class _Seen:
    """A call that the hook has decided."""

    session: str
    dir: str | None
    tool: str
    given: Any
    checked: Checked


class ObstatHooks:
    """Decides every tool call of a session, those of sub-agents included.

    An ask waits for the person, `Guard.wait` seconds. With `Guard(ask="pause")` it ends the run,
    whose `ResultMessage` then has `deferred_tool_use`; a run with `resume=` looks again.
    """

    def __init__(self, guard: Guard | None = None) -> None:
        self.guard = guard or Guard(agent="claude-agent-sdk", ask="wait")
        self._seen: OrderedDict[str, _Seen] = OrderedDict()

    def hooks(self) -> dict[str, list[Any]]:
        """Returns the hooks for `ClaudeAgentOptions`."""
        limit = (self.guard.wait if self.guard.ask == "wait" else 0) + 60
        before = [self.before, self.otherwise] if self.guard.ask == "pause" else [self.before]
        return {
            "PreToolUse": [HookMatcher(hooks=before, timeout=limit, on_failure="block")],
            "PostToolUse": [HookMatcher(hooks=[self.after])],
            "PostToolUseFailure": [HookMatcher(hooks=[self.after])],
        }

    async def before(self, given: Any, tool_use_id: str | None, _: Any) -> dict[str, Any]:
        """Decides a call. What runs is a copy of what was decided."""
        id, session, where = tool_use_id or given.get("tool_use_id"), given.get("session_id", ""), given.get("cwd")
        checked = await self.guard.acheck(given["tool_name"], given["tool_input"], id=id, session=session, dir=where)
        if id:
            self._seen[id] = _Seen(session, where, given["tool_name"], copy.deepcopy(given["tool_input"]), checked)
            while len(self._seen) > 10_000:
                self._seen.popitem(last=False)
        if checked.allowed:
            return _answer("allow", checked.decision.reason, updatedInput=checked.args)
        return _answer("defer" if checked.asking and id else "deny", checked.message)

    async def otherwise(self, *_: Any) -> dict[str, Any]:
        """Has `can_use_tool` asked where the CLI passes over "defer", as it does with several calls in
        one message: without this it would go by its own rules. Of two hooks the stricter counts."""
        return _answer("ask", "obstat decides")

    async def after(self, given: Any, tool_use_id: str | None, _: Any) -> dict[str, Any]:
        """Reports how a call went."""
        seen = self._seen.pop(tool_use_id or given.get("tool_use_id") or "", None)
        if seen is not None and seen.checked.allowed:
            failed = given.get("hook_event_name") == "PostToolUseFailure"
            await self.guard.adone(seen.checked, RuntimeError(given.get("error")) if failed else None)
            if not failed and self.guard.mask and seen.checked.call is not None:
                return await self._masked(seen.checked.call, given.get("tool_response"))
        return {}

    async def _masked(self, call: Call, output: Any) -> dict[str, Any]:
        """Has the CLI show the model an output without its secrets. One that cannot be looked through stops the run: the CLI
        takes nothing but an output of the tool's own shape in its place."""
        try:
            p = await self.guard.client.printed(call, output)
        except Exception as e:
            return {"continue_": False, "stopReason": f"The output of {call.tool} could not be looked through for secrets: {told(e)}."}
        if not p.secrets:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": p.output, "additionalContext": p.note}}

    async def can_use_tool(self, tool: str, given: dict[str, Any], context: Any) -> Any:
        """Answers where the CLI asks beside the hook: for a call that the hook has allowed, yes, with
        what was decided; any other is decided now."""
        seen = self._seen.get(context.tool_use_id or "")
        if seen is not None and seen.checked.allowed and seen.tool == tool and given in (seen.given, seen.checked.args):
            return PermissionResultAllow(updated_input=seen.checked.args)
        session, where = (seen.session, seen.dir) if seen else ("", None)
        checked = await self.guard.acheck(tool, given, id=context.tool_use_id, session=session, dir=where)
        if checked.allowed:
            return PermissionResultAllow(updated_input=checked.args)
        return PermissionResultDeny(message=checked.message)


def _answer(decision: str, reason: str, **more: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason, **more}}
