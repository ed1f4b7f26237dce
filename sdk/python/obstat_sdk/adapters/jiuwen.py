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
from collections.abc import Generator
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
from openjiuwen.harness.security.shell_ast import parse_shell_for_permission

from .._types import Call, ConfigError, told
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
        steps = self._decided(tool_name, tool_args, include_external_directory)
        try:
            ask = next(steps)
            while True:
                ask = steps.send(self._obstat.decide_by(*ask))
        except StopIteration as end:
            level, rule, _ = end.value
        except Exception as e:  # after which the framework would run the tool
            return PermissionLevel.DENY, f"obstat: {told(e)}"
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
        steps = self._decided(tool_name, tool_args, True)
        try:
            ask = next(steps)
            while True:
                ask = steps.send(await self._aobstat.decide_by(*ask))
        except StopIteration as end:
            level, rule, why = end.value
        except Exception as e:  # after which the framework would run the tool
            return _refused(e)
        try:
            reason = self._get_reason(level, tool_name, rule) + why
            outside = self._external_checker.check_external_paths(tool_name, tool_args if isinstance(tool_args, dict) else {})
        except Exception as e:
            return _refused(e)
        paths = outside.external_paths if outside is not None else None
        return PermissionResult(permission=level, matched_rule=rule, reason=reason, external_paths=paths)

    def _decided(self, tool: str, args: Any, external: bool) -> Generator[_Asked, dict[str, Any], tuple[PermissionLevel, str, str]]:
        """Yields what obstat is asked, and returns the level, the rule, and what the floor says.

        A chain of commands, `make && make install`, is also asked about part by part, as openJiuwen has it: an override
        for the whole of it lets openJiuwen run none, and so it lets obstat run none.
        """
        policy = self._policy(external, True)
        said = yield policy, self._call(tool, args)
        level, rule = _verdict(said)
        why = f"; {said.get('reason')}" if said.get("stage") == "floor" else ""
        shape = parse_shell_for_permission(_command(args)) if tool in _SHELLS else None
        if shape is None or (level == PermissionLevel.DENY and rule.startswith("tools.")):
            return level, rule, why
        chain = [p.text for p in shape.subcommands if p.text]
        if shape.kind != "simple" or len(chain) < 2:
            chain = []
        if len(chain) > _PARTS:
            return min(level, PermissionLevel.ASK, key=_STRICT.index), rule, why + f"; it has more than {_PARTS} commands"
        inside = self._policy(False, True)
        found = []
        for text in chain:
            found.append((text, *_verdict((yield inside, self._call(tool, {**args, **dict.fromkeys(_named(args), text)})))))
            if found[-1][1] == PermissionLevel.DENY:
                break
        by_rule = PermissionLevel.ALLOW if said.get("stage") == "shell operators" else level
        own, name = _together(found) if found else (by_rule, rule.removesuffix(_OUTSIDE))
        guarded = _guard(shape) if own == PermissionLevel.ALLOW else ""
        if guarded:
            own, name = PermissionLevel.ASK, f"{guarded}|{name}"
        elif chain and own == PermissionLevel.ALLOW:
            own = PermissionLevel.ASK  # openJiuwen asks about operators, and no override of a part stands for the whole
        if _STRICT.index(level) < _STRICT.index(own):
            return level, rule, why
        return own, name + (_OUTSIDE if rule.endswith(_OUTSIDE) else ""), why

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


_Asked = tuple[dict[str, Any], Call]
_NO_RULE = "default"
"""The name of no rule at all."""
_FALLBACK = "tiered_policy:fallback(no_config)"
_OUTSIDE = "|external_directory.*"
_SHELLS = ("bash", "mcp_exec_command", "create_terminal")
_PARTS = 64
"""A longer chain is asked about."""
_STRICT = (PermissionLevel.DENY, PermissionLevel.ASK, PermissionLevel.ALLOW)


def _refused(e: Exception) -> PermissionResult:
    reason = f"obstat could not decide the call, so it is denied: {told(e)}"
    return PermissionResult(permission=PermissionLevel.DENY, matched_rule="obstat", reason=reason)


def _command(args: Any) -> str:
    return str(args.get("command") or args.get("cmd") or "") if isinstance(args, dict) else ""


def _named(args: dict[str, Any]) -> list[str]:
    """The arguments that hold the command."""
    return [k for k in ("command", "cmd") if k in args]


def _together(parts: list[tuple[str, PermissionLevel, str]]) -> tuple[PermissionLevel, str]:
    """The strictest level of a chain's parts, and the parts that it comes from, in openJiuwen's words."""
    if len(parts) == 1:
        return parts[0][1:]
    level = min((p[1] for p in parts), key=_STRICT.index)
    return level, "tiered_policy:shell_subcommands:" + "+".join(
        sorted({f"{text}=>{_FALLBACK if rule == _NO_RULE else rule}" for text, of, rule in parts if of == level})
    )


def _guard(shape: Any) -> str:
    """The name of openJiuwen's guard of a command's structure: redirections and substitutions are asked about, whatever
    a rule says of them."""
    has = shape.flags
    if shape.kind == "too_complex":
        return f"tiered_policy:shell_ast:too_complex:{shape.reason or 'unsupported_complex_structure'}"
    if shape.kind == "parse_unavailable" and has.has_risky_structure():
        return f"tiered_policy:shell_ast:parse_unavailable:{shape.reason or 'conservative_fallback'}"
    kinds = ("input_redirection", "output_redirection", "command_substitution", "process_substitution", "heredoc")
    return "tiered_policy:shell_ast:structure_guard" if any(getattr(has, f"has_{k}") for k in kinds) else ""


def _verdict(said: dict[str, Any]) -> tuple[PermissionLevel, str]:
    return PermissionLevel(said["verdict"]), said.get("matched") or said.get("stage") or "obstat"


def install(**kwargs: Any) -> None:
    """Has obstat decide for every `PermissionEngine` that is made from now on, in whichever order it was imported; `kwargs` are
    those of `Engine`. Raises `ConfigError` where a program has a subclass of its own already, whose calls obstat would not decide."""
    for other in PermissionEngine.__subclasses__():
        if other is not Engine:
            raise ConfigError(f"{other.__module__}.{other.__qualname__} is a PermissionEngine that was defined before install()")

    class Installed(Engine):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **{**kwargs, **more})

    for module in (core, tool_security_rail, factory, security):
        if hasattr(module, "PermissionEngine"):
            module.PermissionEngine = Installed

    def made(kind: type[Any], *_: Any, **__: Any) -> Any:
        return object.__new__(Installed if kind is PermissionEngine else kind)

    # Where a program has the class by name already, `from ...core import PermissionEngine`, that makes obstat's too.
    PermissionEngine.__new__ = made


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
        if checked is None:
            return
        await self.guard.adone(checked, error)
        message = getattr(ctx.inputs, "tool_msg", None)
        if message is not None:  # the model reads it
            message.content = await self.guard.ashown(checked, message.content, failed=error is not None)
