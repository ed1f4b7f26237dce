"""Claude Agent SDK: a PreToolUse hook, which the CLI asks before every tool call.

    gate = ObstatHooks()
    options = ClaudeAgentOptions(hooks=gate.hooks(), can_use_tool=gate.can_use_tool)

The hook is asked in every permission mode; `can_use_tool` only where the CLI would ask a person,
which `bypassPermissions`, `allowed_tools` and rules in settings files prevent. A hook that fails blocks.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from claude_agent_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny

from ..guard import Checked, Guard

__all__ = ["ObstatHooks"]


class ObstatHooks:
    """Decides every tool call of a session, those of sub-agents included. Nothing pauses here, so
    that an ask waits for the person, `Guard.wait` seconds."""

    def __init__(self, guard: Guard | None = None) -> None:
        self.guard = guard or Guard(agent="claude-agent-sdk", ask="wait")
        self._allowed: OrderedDict[str, Checked] = OrderedDict()

    def hooks(self) -> dict[str, list[Any]]:
        """Returns the hooks for `ClaudeAgentOptions`."""
        limit = (self.guard.wait if self.guard.ask == "wait" else 0) + 60
        return {
            "PreToolUse": [HookMatcher(hooks=[self.before], timeout=limit, on_failure="block")],
            "PostToolUse": [HookMatcher(hooks=[self.after])],
        }

    async def before(self, given: Any, tool_use_id: str | None, _: Any) -> dict[str, Any]:
        """Decides a call. What runs is a copy of what was decided."""
        id = tool_use_id or given.get("tool_use_id")
        checked = await self.guard.acheck(given["tool_name"], given["tool_input"], id=id, session=given.get("session_id", ""))
        out: dict[str, Any] = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": checked.message}
        if checked.allowed:
            out.update(permissionDecision="allow", permissionDecisionReason=checked.decision.reason, updatedInput=checked.args)
            if id:
                self._allowed[id] = checked
                while len(self._allowed) > 10_000:
                    self._allowed.popitem(last=False)
        return {"hookSpecificOutput": out}

    async def after(self, given: Any, tool_use_id: str | None, _: Any) -> dict[str, Any]:
        """Reports that a call has run."""
        checked = self._allowed.pop(tool_use_id or given.get("tool_use_id") or "", None)
        if checked is not None:
            await self.guard.adone(checked)
        return {}

    async def can_use_tool(self, tool: str, given: dict[str, Any], context: Any) -> Any:
        """Answers where the CLI asks beside the hook: for a call that the hook has allowed with the
        same input, yes; any other is decided now."""
        known = self._allowed.get(context.tool_use_id or "")
        if known is not None and known.args == given:
            return PermissionResultAllow()
        checked = await self.guard.acheck(tool, given, id=context.tool_use_id)
        if checked.allowed:
            return PermissionResultAllow(updated_input=checked.args)
        return PermissionResultDeny(message=checked.message)
