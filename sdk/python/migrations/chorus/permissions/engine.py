"""`check` of Chorus's page "Permission Profiles": the patterns of allow, then those of ask, else deny."""

import enum
import re
from dataclasses import dataclass, field


class Decision(enum.Enum):
    """The answer to an action."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass
class PermissionProfile:
    """Patterns that match whole action strings."""

    allow: list[str] = field(default_factory=list)
    ask: list[str] = field(default_factory=list)


class PermissionEngine:
    """Checks actions against profiles."""

    def check(self, profile: PermissionProfile, action: str) -> Decision:
        """Checks one."""
        if any(re.fullmatch(p, action) for p in profile.allow):
            return Decision.ALLOW
        return Decision.ASK if any(re.fullmatch(p, action) for p in profile.ask) else Decision.DENY
