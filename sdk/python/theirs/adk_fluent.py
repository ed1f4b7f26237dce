"""A plugin of pytest: the names of adk-fluent that `obstat_sdk.adapters.adk_fluent` has, as a program
has them that imports them from there."""

from __future__ import annotations

import atexit
import os

import adk_fluent
import adk_fluent._permissions
import adk_fluent._permissions._callback

from obstat_sdk.adapters import adk_fluent as obstat
from suite.server import Server

_server = Server(policy='{"permission": {"*": "deny"}}')  # which is not asked
atexit.register(_server.close)
os.environ["OBSTAT_SERVER"] = _server.address

for _module in (adk_fluent, adk_fluent._permissions, adk_fluent._permissions._callback):
    for _name in obstat.__all__:
        if hasattr(_module, _name):
            setattr(_module, _name, getattr(obstat, _name))
