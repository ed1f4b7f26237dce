"""A plugin of pytest: obstat's decisions in place of adk-fluent's PermissionPolicy.check."""

from __future__ import annotations

import atexit
import json
import os
from typing import Any

from adk_fluent._permissions import PermissionDecision, PermissionPolicy

from obstat_sdk import Call, Client
from suite.server import Server

_server = Server(policy="{}", name="adk-permissions.json")
atexit.register(_server.close)
_file = _server.dir / "adk-permissions.json"
_client = Client(_server.address)
LISTS = ("allow", "deny", "ask", "allow_patterns", "deny_patterns", "ask_patterns", "mutating_tools")


def check(self: Any, tool_name: str, tool_input: dict[str, Any] | None = None) -> Any:
    """Has obstat decide by the policy."""
    policy = {"mode": self.mode, "pattern_mode": self.pattern_mode, **{k: sorted(getattr(self, k)) for k in LISTS}}
    text = json.dumps(policy)
    if _file.read_text() != text:
        new = _file.with_suffix(".new")
        new.write_text(text)
        os.replace(new, _file)
    view = _client.explain(Call(tool_name, tool_input or {}, dir=os.getcwd()))
    if view["verdict"] == "allow":
        return PermissionDecision.allow()
    return PermissionDecision.deny(view["reason"]) if view["verdict"] == "deny" else PermissionDecision.ask(view["reason"])


PermissionPolicy.check = check
