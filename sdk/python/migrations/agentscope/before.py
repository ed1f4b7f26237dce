"""An agent that edits and tests, after AgentScope's page "Permission System"."""

import asyncio
import os
import tempfile

from agentscope.agent import Agent
from agentscope.message import UserMsg
from agentscope.permission import PermissionBehavior, PermissionContext, PermissionMode, PermissionRule
from agentscope.state import AgentState
from agentscope.tool import Bash, Toolkit

from suite.agentscope import scripted

COMMANDS = ["ls", "touch notes", "rm notes", "ls; rm notes", "git push", "sh -c 'rm notes'"]


def rule(behavior: PermissionBehavior, content: str) -> PermissionRule:
    """A rule of the user's settings."""
    return PermissionRule(tool_name="Bash", rule_content=content, behavior=behavior, source="userSettings")


async def main() -> None:
    """Makes each call with an agent of its own, and prints how it ended."""
    os.chdir(tempfile.mkdtemp())
    for command in COMMANDS:
        context = PermissionContext(
            mode=PermissionMode.BYPASS,
            deny_rules={"Bash": [rule(PermissionBehavior.DENY, "rm:*")]},
            ask_rules={"Bash": [rule(PermissionBehavior.ASK, "git push:*")]},
        )
        model = scripted([[("Bash", {"command": command})], "end"])
        agent = Agent("coder", "You write code.", model, Toolkit([Bash()]), state=AgentState(permission_context=context))
        await agent.reply(UserMsg(name="user", content="go on"))
        blocks = [b for m in agent.state.context for b in m.get_content_blocks("tool_call")]
        results = [b for m in agent.state.context for b in m.get_content_blocks("tool_result")]
        print(command, "->", (results or blocks)[-1].state)


asyncio.run(main())
