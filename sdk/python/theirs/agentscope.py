"""A plugin of pytest: obstat's engine and agent in place of AgentScope's, as a program has them that
imports both from `obstat_sdk.adapters.agentscope`.
"""

from __future__ import annotations

import atexit
import os

import agentscope.agent
import agentscope.permission

from obstat_sdk import Client
from obstat_sdk.adapters import agentscope as obstat
from suite.server import Server

_server = Server(policy='{"permission": {"*": "deny"}}')  # which is not asked
atexit.register(_server.close)
os.environ["OBSTAT_SERVER"] = _server.address


class Engine(obstat.PermissionEngine):
    """The tests want the events of calls at the same time in their order: it does not let others run."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **{"judge": Client(), **kwargs})  # type: ignore[arg-type]


class Agent(obstat.Agent):
    """The same for agents."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **{"judge": Client(), **kwargs})  # type: ignore[arg-type]


agentscope.permission.PermissionEngine = Engine
agentscope.agent.Agent = Agent
