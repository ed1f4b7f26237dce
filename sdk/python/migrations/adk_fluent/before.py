"""A coding agent with a policy, a handler and a memory, after adk-fluent's page "Permissions"."""

import asyncio
from typing import Any

from adk_fluent import Agent, H
from google.adk.runners import InMemoryRunner

from suite.google_adk import scripted

CALLS = [("read_file", {"path": "a"}), ("get_secret", {"name": "k"}), ("bash", {"command": "ls"}), ("bash", {"command": "ls"}), ("edit_file", {"path": "a"})]


def read_file(path: str) -> str:
    """Reads a file."""
    return "read"


def get_secret(name: str) -> str:
    """Gets a secret."""
    return "secret"


def bash(command: str) -> str:
    """Runs a command."""
    return "ran"


def edit_file(path: str) -> str:
    """Edits a file."""
    return "edited"


async def approve(tool_name: str, tool_args: dict[str, Any], decision: Any) -> bool:
    """Stands for a person, who approves commands alone."""
    print(decision.prompt)
    return tool_name == "bash"


policy = H.auto_allow("read_file").merge(H.ask_before("bash", "edit_file")).merge(H.deny_patterns("*secret*"))
plugin = H.permission_plugin(policy, handler=approve, memory=H.approval_memory())
coder = Agent("coder").model(scripted([[c] for c in CALLS] + ["end"]))
for tool in (read_file, get_secret, bash, edit_file):
    coder = coder.tool(tool)
runner = InMemoryRunner(coder.build(), plugins=[plugin])
for event in asyncio.run(runner.run_debug("go on", quiet=True)):
    for response in event.get_function_responses():
        print(response.name, "->", response.response)
