"""A plugin of pytest: obstat's engine in place of openJiuwen's, by the one line that a program has."""

from __future__ import annotations

import atexit
import os
from typing import Any

from openjiuwen.harness.security import tiered_policy
from openjiuwen.harness.security.models import PermissionLevel

from obstat_sdk.adapters import jiuwen
from suite.server import Server

_server = Server(policy='{"permission": {"*": "deny"}}')  # which is not asked
atexit.register(_server.close)
os.environ["OBSTAT_SERVER"] = _server.address
jiuwen.install()


def evaluate(config: dict[str, Any], tool: str, args: dict[str, Any]) -> tuple[PermissionLevel, str]:
    """The function below the engine, which some of the tests call."""
    level, rule = jiuwen.Engine(config).evaluate_global_policy_directly(tool, args, include_external_directory=False)
    return level or PermissionLevel.ASK, rule or "tiered_policy:fallback(no_config)"


tiered_policy.evaluate_tiered_policy = evaluate
