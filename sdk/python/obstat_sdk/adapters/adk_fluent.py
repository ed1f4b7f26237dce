"""adk-fluent: obstat in place of its PermissionPlugin.

    runner = InMemoryRunner(Agent("clerk").model(model).tool(pay).build(), plugins=[ObstatPermissionPlugin()])

adk-fluent asks a handler that answers at once, so that an ask waits for the person here by default;
`Guard(ask="pause")` uses ADK's own confirmation in its place.
"""

from __future__ import annotations

from ..guard import Guard
from .google_adk import ObstatPlugin

__all__ = ["ObstatPermissionPlugin"]


class ObstatPermissionPlugin(ObstatPlugin):
    """Takes the place of `adk_fluent.PermissionPlugin`, and its name among the plugins."""

    def __init__(self, guard: Guard | None = None, name: str = "adkf_permission_plugin") -> None:
        super().__init__(guard or Guard(agent="adk-fluent", ask="wait"), name)
