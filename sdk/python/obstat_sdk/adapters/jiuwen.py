"""JiuwenSwarm and openJiuwen: obstat in place of the permission engine.

    from obstat_sdk.adapters import jiuwen
    jiuwen.install()

Every `PermissionEngine` that is made afterwards, by JiuwenSwarm's gateway too, has obstat decide by its own
`permissions`: the rail, its confirmations, what it persists, `permissions.*`, `/permissions` and `/add-dir` stay as
they are. `PermissionInterruptRail(config, engine=Engine(config))` does it for one rail.

    await agent.register_rail(ObstatRail())

decides by obstat's policy instead, and keeps approvals on the server. An ask is the framework's interrupt. What a
resume says makes the rail look again: a yes, "always" and what the session remembers are no verdict; a no denies.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from openjiuwen.core.runner.callback import AbortError
from openjiuwen.core.single_agent.interrupt.response import InterruptRequest
from openjiuwen.harness import security
from openjiuwen.harness.rails.interrupt.confirm_rail import ConfirmPayload
from openjiuwen.harness.rails.security import tool_security_rail
from openjiuwen.harness.rails.security.tool_security_rail import PermissionInterruptRail
from openjiuwen.harness.security import core, factory
from openjiuwen.harness.security.core import PermissionEngine
from openjiuwen.harness.security.models import PermissionLevel, PermissionResult

from .._types import Call, ObstatError
from ..client import AsyncClient, Client
from ..guard import Checked, Guard

__all__ = ["Engine", "ObstatRail", "install"]


class Engine(PermissionEngine):
    """openJiuwen's permission engine with obstat's decisions: the same constructor, methods and texts.

    `floor="off"` decides as openJiuwen does and no stricter. Where obstat cannot be asked, calls are denied.
    """

    def __init__(self, *args: Any, server: str | None = None, floor: str = "on", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._floor = floor
        self._obstat, self._aobstat = Client(server), AsyncClient(server)

    def evaluate_global_policy_directly(
        self, tool_name: str, tool_args: dict[str, Any], *, include_external_directory: bool = True
    ) -> tuple[PermissionLevel | None, str | None]:
        """Decides by the configuration, whether it is enabled or not."""
        try:
            said = self._obstat.decide_by(self._policy(include_external_directory, True), self._call(tool_name, tool_args))
        except ObstatError as e:
            return PermissionLevel.DENY, f"obstat: {e}"
        level, rule = _verdict(said)
        if rule == _NO_RULE:
            return None, None
        return level, rule.removeprefix(_NO_RULE + "|")

    async def check_permission(self, tool_name: str, tool_args: dict[str, Any]) -> PermissionResult:
        """Decides a call: allow, ask or deny, with the rule and the reason."""
        if not self._enabled:
            return PermissionResult(permission=PermissionLevel.ALLOW, reason="Permission system is disabled")
        active = self._permission_checks_active
        if active is not None and not active():
            return PermissionResult(permission=PermissionLevel.ALLOW, reason="Tool permission checks are inactive for this context")
        try:
            said = await self._aobstat.decide_by(self._policy(True, True), self._call(tool_name, tool_args))
        except ObstatError as e:
            reason = f"obstat could not decide the call, so it is denied: {e}"
            return PermissionResult(permission=PermissionLevel.DENY, matched_rule="obstat", reason=reason)
        level, rule = _verdict(said)
        reason = self._get_reason(level, tool_name, rule)
        if said.get("stage") == "floor":
            reason += f"; {said.get('reason')}"
        outside = self._external_checker.check_external_paths(tool_name, tool_args if isinstance(tool_args, dict) else {})
        paths = outside.external_paths if outside is not None else None
        return PermissionResult(permission=level, matched_rule=rule, reason=reason, external_paths=paths)

    def _policy(self, external: bool, enabled: bool) -> dict[str, Any]:
        config = {**self.config, "enabled": enabled}
        if not external or self._workspace_root is None:
            config["external_directory"] = {"*": "allow"}  # nothing is outside
        text = json.dumps({"permissions": config}, ensure_ascii=False, default=str)
        return {"dialect": "jiuwen", "files": [{"name": "config.yaml", "text": text}], "options": {"floor": self._floor}}

    def _call(self, tool: str, args: Any) -> Call:
        root = str(Path(self._workspace_root).resolve()) if self._workspace_root is not None else os.getcwd()
        roots = (root, *(str(Path(d).resolve()) for d in self._trusted_dirs))
        return Call(tool, args if isinstance(args, dict) else {}, agent="jiuwenswarm", dir=root, roots=roots)


_NO_RULE = "default"
"""The name of no rule at all."""


def _verdict(said: dict[str, Any]) -> tuple[PermissionLevel, str]:
    return PermissionLevel(said["verdict"]), said.get("matched") or said.get("stage") or "obstat"


def install(**kwargs: Any) -> None:
    """Has obstat decide for every `PermissionEngine` that is made from now on; `kwargs` are those of `Engine`."""

    class Installed(Engine):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **{**kwargs, **more})

    for module in (core, tool_security_rail, factory, security):
        if hasattr(module, "PermissionEngine"):
            module.PermissionEngine = Installed


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
