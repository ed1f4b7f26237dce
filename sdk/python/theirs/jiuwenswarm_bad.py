"""Bad input for the drop-in in openJiuwen's place: each has to be denied or asked about, with a reason, and none raises."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from openjiuwen.harness.security.core import PermissionEngine

from obstat_sdk import ConfigError
from obstat_sdk.adapters.jiuwen import Engine, install
from suite import bad
from suite.server import Server

ALLOWS = {"enabled": True, "schema": "tiered_policy", "permission_mode": "normal", "tools": {"bash": "allow"}, "defaults": {"*": "allow"}}


def main() -> None:
    """Tries each, and prints how many there were."""
    logging.disable(logging.CRITICAL)
    server = Server(policy='{"permission": {"*": "deny"}}')
    over = [{"id": "o", "tools": ["bash"], "match_type": "command", "pattern": "re:.*", "action": "allow"}]
    cases: dict[str, tuple[dict[str, Any], str, str, Any, str]] = {
        "the server is gone": (ALLOWS, "unix:" + str(server.dir / "gone"), "bash", {"command": "ls"}, "could not decide"),
        "a rule that is none": (
            {**ALLOWS, "rules": [{"id": "r", "tools": ["bash"], "pattern": "re:(", "action": "deny"}]},
            server.address,
            "bash",
            {"command": "ls"},
            "",
        ),
        "a level that is none": ({**ALLOWS, "tools": {"bash": "maybe"}}, server.address, "bash", {"command": "ls"}, ""),
        "a chain without end": ({**ALLOWS, "approval_overrides": over}, server.address, "bash", {"command": " && ".join(["ls"] * 100)}, "more than"),
        "a command of two lines": ({**ALLOWS, "approval_overrides": over}, server.address, "bash", {"command": "ls\nrm x"}, ""),
        "a command that is no text": (ALLOWS, server.address, "bash", {"command": ["rm", "x"]}, ""),
    }
    try:
        for name, (config, address, tool, args, words) in cases.items():
            engine = Engine(config, workspace_root=Path("/srv/ws"), server=address)
            refused(name, engine, tool, args, words)
        with bad.servers() as places:
            for name, address in places.items():
                if name != "silent":  # which takes its time, and the client's own tests have it
                    refused(name, Engine(ALLOWS, workspace_root=Path("/srv/ws"), server=address), "bash", {"command": "ls"}, "")
        broken = Engine(ALLOWS, workspace_root=Path("/srv/ws"), server=server.address)
        broken._external_checker.check_external_paths = boom  # a check of the framework that raises, where an exception lets the call run
        got = asyncio.run(broken.check_permission("bash", {"command": "ls"}))
        if got.permission.value != "deny" or "it broke" not in (got.reason or ""):
            raise SystemExit(f"a check that raises: {got}")
        refused("a configuration that is no JSON", Engine({**ALLOWS, "rules": cyclic()}, server=server.address), "bash", {"command": "ls"}, "")
        newer = {"id": "r", "tools": ["bash"], "pattern": "ls", "action": "allow", "unless": "on Sundays"}
        asks = {**ALLOWS, "tools": {"bash": "ask"}, "defaults": {"*": "ask"}}
        for name, config in {"": ALLOWS, "rules": {**asks, "rules": [newer]}}.items():
            plain, more = ({**config, "of_a_newer_release": 1} if n else config for n in (0, 1))
            same = [asyncio.run(Engine(c, server=server.address).check_permission("bash", {"command": "ls"})).permission.value for c in (plain, more)]
            if LEVELS.index(same[1]) > LEVELS.index(same[0]):
                raise SystemExit(f"an unknown field loosens: {name} {same}")
        own = type("Own", (PermissionEngine,), {})
        try:
            install(server=server.address)
        except ConfigError as e:
            if own.__qualname__ not in str(e):
                raise
        else:
            raise SystemExit("a subclass that obstat does not decide for goes unnoticed")
    finally:
        server.close()
    print(f"  {len(cases) + 6} kinds of bad input, none allowed")


LEVELS = ("deny", "ask", "allow")


def boom(*_: Any) -> Any:
    """Breaks."""
    raise RuntimeError("it broke")


def cyclic() -> list[Any]:
    """Rules that hold themselves."""
    out: list[Any] = []
    out.append(out)
    return out


def refused(name: str, engine: Engine, tool: str, args: Any, words: str) -> None:
    """Fails where a call is allowed, has no reason, or the reason has a place of the machine."""
    got = asyncio.run(engine.check_permission(tool, args))
    level, _ = engine.evaluate_global_policy_directly(tool, args)
    if got.permission.value == "allow" or not got.reason or words not in got.reason or (level is not None and level.value == "allow"):
        raise SystemExit(f"{name}: {got}, {level}")
    if engine._obstat.place.socket in got.reason:
        raise SystemExit(f"{name}: the model reads a place of the machine: {got.reason}")


if __name__ == "__main__":
    main()
