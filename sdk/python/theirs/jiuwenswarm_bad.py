"""Bad input for the drop-in in openJiuwen's place: each has to be denied or asked about, with a reason, and none raises."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from obstat_sdk.adapters.jiuwen import Engine
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
            got = asyncio.run(engine.check_permission(tool, args))
            level, _ = engine.evaluate_global_policy_directly(tool, args)
            if got.permission.value == "allow" or not got.reason or words not in got.reason or (level is not None and level.value == "allow"):
                raise SystemExit(f"{name}: {got}, {level}")
        same = [
            asyncio.run(Engine(c, server=server.address).check_permission("bash", {"command": "ls"})) for c in (ALLOWS, {**ALLOWS, "of_a_newer_release": 1})
        ]
        if same[0].permission != same[1].permission and same[1].permission.value == "allow":
            raise SystemExit(f"an unknown field loosens: {same}")
    finally:
        server.close()
    print(f"  {len(cases)} kinds of bad input, none allowed")


if __name__ == "__main__":
    main()
