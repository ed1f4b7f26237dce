"""The permissions of a gateway, after JiuwenSwarm's page "Tool Permissions & Security"."""

import asyncio
import logging
from pathlib import Path

from openjiuwen.harness.security.core import PermissionEngine

from obstat_sdk.adapters import jiuwen

jiuwen.install()

CONFIG = {
    "enabled": True,
    "schema": "tiered_policy",
    "permission_mode": "normal",
    "tools": {"bash": "ask", "read_file": "allow", "write_file": "ask"},
    "rules": [{"id": "no-push", "tools": ["bash"], "pattern": "git push *", "action": "deny"}],
    "approval_overrides": [{"id": "o", "tools": ["bash"], "match_type": "command", "pattern": "npm test", "action": "allow"}],
}
CALLS = [
    ("bash", {"command": "npm test"}),
    ("bash", {"command": "git push origin main"}),
    ("bash", {"command": "env A=1 git push origin main"}),
    ("bash", {"command": "make"}),
    ("read_file", {"file_path": "a.txt"}),
    ("write_file", {"file_path": "a.txt"}),
]


async def main() -> None:
    """Puts each call to the engine, and prints its answer."""
    engine = PermissionEngine(CONFIG, workspace_root=Path("/srv/ws"))
    for tool, args in CALLS:
        got = await engine.check_permission(tool, args)
        print(tool, *args.values(), "->", got.permission.value)


logging.disable(logging.CRITICAL)
asyncio.run(main())
