"""A plugin of pytest: obstat's decisions in place of AgentScope's permission engine.

Each context that a test makes is the policy of a server, in AgentScope's own form, and every
check is put to it. What the engine is not asked, and how tools match rules of their own, stays.
"""

from __future__ import annotations

import atexit
import os
from typing import Any

from agentscope.permission import PermissionBehavior, PermissionDecision, PermissionEngine, PermissionRule

from obstat_sdk import Call, Client
from suite.server import Server

_server = Server(policy='{"mode": "default"}', name="permission_context.json")
atexit.register(_server.close)
_file = _server.dir / "permission_context.json"
_client = Client(_server.address)  # the tests want the events of calls at the same time in their order


async def check_permission(self: Any, tool: Any, tool_input: dict[str, Any]) -> Any:
    """Has obstat decide, by the context as it is now."""
    text = self.context.model_dump_json()
    if _file.read_text() != text:
        new = _file.with_suffix(".new")
        new.write_text(text)
        os.replace(new, _file)
    view = _client.explain(Call(tool.name, tool_input, dir=os.getcwd()))
    rules = [_rule(tool.name, o) for o in view.get("offers") or ()]
    return PermissionDecision(
        behavior=PermissionBehavior(view["verdict"]),
        message=view["reason"],
        decision_reason=view["reason"],
        suggested_rules=rules or None,
        bypass_immune=bool(view.get("safety")),
    )


def _rule(tool: str, offer: dict[str, Any]) -> Any:
    """Returns an offer as a suggested rule: `Bash(npm run *)` is about that, `Bash` about all."""
    text = offer["text"]
    content = text[len(tool) + 1 : -1] if text.startswith(tool + "(") else None
    return PermissionRule(tool_name=tool, rule_content=content, behavior=PermissionBehavior.ALLOW, source="suggested")


PermissionEngine.check_permission = check_permission
