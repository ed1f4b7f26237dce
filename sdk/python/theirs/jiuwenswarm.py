"""A plugin of pytest: obstat's engine in place of openJiuwen's, by the one line that a program has."""

from __future__ import annotations

import atexit
import os

from obstat_sdk.adapters import jiuwen
from suite.server import Server

_server = Server(policy='{"permission": {"*": "deny"}}')  # which is not asked
atexit.register(_server.close)
os.environ["OBSTAT_SERVER"] = _server.address
jiuwen.install()
