"""JiuwenSwarm and openJiuwen: obstat in place of the permission engine, with its own confirm flow.

    await agent.register_rail(ObstatRail())

An ask is the framework's interrupt. What a resume says makes the rail look again: a yes, "always"
and what the session remembers are no verdict; a no denies.
"""

from __future__ import annotations

import json
from typing import Any

from openjiuwen.core.runner.callback import AbortError
from openjiuwen.core.single_agent.interrupt.response import InterruptRequest
from openjiuwen.harness.rails.interrupt.confirm_rail import ConfirmPayload
from openjiuwen.harness.rails.security.tool_security_rail import PermissionInterruptRail

from ..guard import Checked, Guard

__all__ = ["ObstatRail"]


class ObstatRail(PermissionInterruptRail):
    """Answers in place of PermissionInterruptRail, for every tool. No configuration of JiuwenSwarm
    turns it off: obstat reads that file as a policy."""

    priority = -1_000_000  # rails with a lower one run after it, and would change what was decided

    def __init__(self, guard: Guard | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.guard = guard or Guard(agent="jiuwenswarm")
        self._running: dict[str, Checked] = {}

    async def before_tool_call(self, ctx: Any) -> None:
        """Decides the call that is about to run, by the name and the arguments that it runs with."""
        call, inputs = ctx.inputs.tool_call, ctx.inputs
        try:
            if inputs.tool_name:
                call.name = inputs.tool_name
            if inputs.tool_args is not None:
                call.arguments = inputs.tool_args if isinstance(inputs.tool_args, str) else json.dumps(inputs.tool_args)
            await super().before_tool_call(ctx)
        except AbortError:
            raise
        except Exception as e:  # after which the framework would run the tool
            self._skip_tool(ctx, call, f"Denied: the call could not be decided: {type(e).__name__}: {e}")

    async def resolve_interrupt(self, ctx: Any, tool_call: Any, user_input: Any, auto_confirm_config: Any = None) -> Any:
        """Decides a call, and takes its approval."""
        said = self.parse_confirm_payload(user_input) if user_input is not None else None
        if said is not None and not said.approved:
            return self.reject(tool_result=said.feedback or "Denied: a person refused it.")
        session = ctx.session.get_session_id() if ctx.session else ""
        name = self._normalize_tool_name(tool_call.name)
        checked = await self.guard.acheck(name, tool_call.arguments or "{}", id=tool_call.id or None, session=session)
        if checked.asking:
            return self.interrupt(InterruptRequest(message=checked.message, payload_schema=ConfirmPayload.to_schema()))
        if not checked.allowed:
            return self.reject(tool_result=checked.message)
        self._running[tool_call.id] = checked
        return self.approve(new_args=json.dumps(checked.args, ensure_ascii=False))

    async def after_tool_call(self, ctx: Any) -> None:
        """Reports that the call has run."""
        await self._done(ctx, None)

    async def on_tool_exception(self, ctx: Any) -> None:
        """Reports that the call has failed."""
        await self._done(ctx, ctx.exception or RuntimeError("the tool failed"))

    async def _done(self, ctx: Any, error: BaseException | None) -> None:
        checked = self._running.pop(ctx.inputs.tool_call.id, None) if ctx.inputs.tool_call is not None else None
        if checked is not None:
            await self.guard.adone(checked, error)
