"""Chorus: its permission engine, confirmation and audit table, with obstat's decisions.

    engine = PermissionEngine()
    profile = engine.resolve_profile("standard")
    engine.check(profile, "tool:bash:npm test")  # Decision.ASK

`Gatekeeper` takes a tool's call the whole way: the check, the question to people and the audit row.
"""

from __future__ import annotations

import asyncio
import enum
import json
import os
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from .._types import Call, ObstatError, told
from ..client import Client

__all__ = ["Audit", "Decision", "Gatekeeper", "InvalidProfileError", "PermissionEngine", "PermissionProfile", "Question", "Reply", "Result"]

ADMINISTRATOR = "discord:permission:administrator"


class Decision(enum.Enum):
    """The answer to an action."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class InvalidProfileError(ObstatError, ValueError):
    """A profile that cannot be used: no preset of that name, or a pattern that is none."""


@dataclass(frozen=True)
class PermissionProfile:
    """Patterns of Python's `re`, matched against whole action strings; `name` is that of a preset."""

    allow: Sequence[str] = ()
    ask: Sequence[str] = ()
    name: str = ""

    def config(self) -> Any:
        """Returns the profile as `permissions` of agent.json."""
        return self.name or {"allow": list(self.allow), "ask": list(self.ask)}


_FILES = ("tool:create_file:.*", "tool:str_replace:.*", "tool:view:.*", "tool:git:init", "tool:git:commit", "tool:git:branch .*")
_SHOWN = {
    "open": (("tool:.*",), ()),
    "standard": (_FILES, ("tool:bash:.*", "tool:git:push .*", "tool:git:merge_request .*", "tool:self_edit:.*")),
    "locked": (("tool:view:.*",), ()),
}
"""The patterns of the presets, for programs that show them: obstat goes by a preset's name."""


class PermissionEngine:
    """Checks actions against profiles. Where obstat cannot be asked, the answer is DENY.

    `grants` is the server's `permission_grants`, `workspace` the directory that paths are relative to.
    `floor="off"` decides as the document does and no stricter.
    """

    def __init__(
        self, *, server: str | None = None, workspace: str | None = None, grants: Mapping[str, Sequence[str]] | None = None, floor: str = "on"
    ) -> None:
        self._client, self._floor = Client(server), floor
        self._workspace = workspace or os.getcwd()
        self._grants = grants

    def check(self, profile: PermissionProfile, action: str) -> Decision:
        """Checks an action string against a profile."""
        try:
            return Decision(self._decide(profile, _call(action, self._workspace))["verdict"])
        except ObstatError:
            return Decision.DENY

    def resolve_profile(self, profile_name_or_dict: str | Mapping[str, Any]) -> PermissionProfile:
        """Returns the profile of a name (a preset) or a dict (a custom one). Raises `InvalidProfileError`
        where there is no such preset, or a pattern is no regular expression."""
        given = profile_name_or_dict
        if isinstance(given, str):
            profile = PermissionProfile(*_SHOWN.get(given, ((), ())), name=given)
        else:
            lists = [given.get(k, []) for k in ("allow", "ask")]
            if set(given) - {"allow", "ask"} or not all(isinstance(v, list) and all(isinstance(p, str) for p in v) for v in lists):
                raise InvalidProfileError("a profile has `allow` and `ask`, lists of patterns, and nothing else")
            profile = PermissionProfile(*lists)
        try:
            self._decide(profile, _call("tool:view:README.md", self._workspace))
        except ObstatError as e:
            raise InvalidProfileError(str(e)) from None
        return profile

    def _decide(self, profile: PermissionProfile, call: Call) -> dict[str, Any]:
        config: dict[str, Any] = {"permissions": profile.config()}
        if self._grants is not None:
            config["permission_grants"] = {role: list(names) for role, names in self._grants.items()}
        text = json.dumps(config, ensure_ascii=False)
        policy = {"dialect": "chorus", "files": [{"name": "config.json", "text": text}], "options": {"floor": self._floor}}
        return self._client.decide_by(policy, call)


@dataclass(frozen=True)
class Question:
    """A confirmation as it is put to people."""

    agent: str
    action: str
    user: str
    timeout: float
    why: str = ""

    @property
    def text(self) -> str:
        """The document's prompt. Characters that could make the action look like another one are
        shown by their numbers."""
        tool, _, detail = self.action.removeprefix("tool:").partition(":")
        why = f"Note: {_visible(self.why)}\n\n" if self.why else ""
        return (
            f"Agent wants to execute:\n  {_visible(tool)}: {_visible(detail)}\n\nAction: {_visible(self.action)}\n\n"
            f"{why}React with checkmark to approve or X to deny."
        )


@dataclass(frozen=True)
class Reply:
    """One person's answer, with the roles that the channel knows them by."""

    user: str
    approve: bool
    roles: Sequence[str] = ()


@dataclass(frozen=True)
class Result:
    """Whether a call may run; `error` is the tool's result where it may not."""

    allowed: bool
    error: str
    decision: str


class Audit:
    """The audit table in a database: `Audit(sqlite3.connect("audit.db"))`, or `Audit(psycopg.connect(...), "%s")`."""

    def __init__(self, connection: Any, placeholder: str = "?") -> None:
        self._db, self._row = connection, ", ".join([placeholder] * 6)
        cursor = connection.cursor()
        cursor.execute(
            "CREATE TABLE IF NOT EXISTS audit_log (agent_name TEXT NOT NULL, timestamp TEXT NOT NULL, action_string TEXT NOT NULL, "
            "decision TEXT NOT NULL CHECK (decision IN ('allow', 'deny', 'ask_approved', 'ask_denied')), user_id TEXT, detail TEXT)"
        )
        connection.commit()

    @classmethod
    def sqlite(cls, path: str) -> Audit:
        """Opens the table in a file."""
        return cls(sqlite3.connect(path, check_same_thread=False))

    def record(self, agent: str, action: str, decision: str, user: str, detail: str) -> None:
        """Writes a row."""
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
        self._db.cursor().execute(f"INSERT INTO audit_log VALUES ({self._row})", (agent, now, action, decision, user, detail))
        self._db.commit()


Ask = Callable[[Question], Awaitable[Reply]]


@dataclass
class Gatekeeper:
    """Takes calls the whole way. `ask` shows a question and returns a reply; a reply of somebody who may not
    answer does not count, and it is asked again. Without `ask`, what would be asked is denied. `approvers` are
    the roles that may answer; none: the user who started the session, and administrators."""

    engine: PermissionEngine
    audit: Audit | None = None
    ask: Ask | None = None
    approvers: Sequence[str] = ()
    timeout: float = 60
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def check(self, profile: PermissionProfile, action: str, *, agent: str, user: str, roles: Sequence[str] = ()) -> Result:
        """Decides an action of an agent, in a session that `user` started, who has `roles`. Questions are put
        one after the other."""
        call = _call(action, self.engine._workspace, agent=agent, user=user, roles=tuple(roles))
        try:
            said = await asyncio.to_thread(self.engine._decide, profile, call)
        except ObstatError as e:
            said = {"verdict": "deny", "reason": told(e), "stage": "obstat"}
        verdict, why = said["verdict"], str(said.get("reason") or "")
        decision, detail = verdict, ""
        if verdict == "deny":
            detail = f"Profile: {profile.name or 'custom'}" if said.get("stage") == "default" else why
        elif verdict == "ask":
            async with self._turn:
                decision, detail = await self._confirm(Question(agent, action, user, self.timeout, _note(said)))
        error = {"deny": "Permission denied", "ask_denied": "User declined"}.get(decision, "")
        result = Result(not error, error and f"{error}: {action} ({detail})", decision)
        if self.audit is not None:
            try:
                self.audit.record(agent, action, decision, user, detail)
            except Exception as e:  # a call without a row does not run
                return Result(False, f"the audit log could not be written, so nothing is run: {e}", "deny")
        return result

    async def _confirm(self, question: Question) -> tuple[str, str]:
        if self.ask is None:
            return "ask_denied", "Permission requires approval (no channel)"
        try:
            reply = await asyncio.wait_for(self._reply(question), self.timeout)
        except (asyncio.TimeoutError, TimeoutError):
            return "ask_denied", f"Timed out after {self.timeout:g} seconds"
        except Exception as e:
            return "ask_denied", f"asking failed: {type(e).__name__}: {e}"
        if not reply.approve:
            return "ask_denied", "User denied"
        return "ask_approved", "" if reply.user == question.user else f"Approved by {reply.user}"

    async def _reply(self, question: Question) -> Reply:
        assert self.ask is not None
        while True:
            reply = await self.ask(question)
            if not isinstance(reply, Reply) or not isinstance(reply.approve, bool):
                raise TypeError(f"a reply is a Reply, not {reply!r:.100}")
            who = set(reply.roles)
            if who & set(self.approvers) or (not self.approvers and (reply.user == question.user != "" or ADMINISTRATOR in who)):
                return reply
            await asyncio.sleep(0)


_FIELDS = {
    "create_file": "path",
    "str_replace": "path",
    "view": "path",
    "bash": "command",
    "self_edit:docs": "path",
    "self_edit:permissions": "profile",
    "self_edit:model": "model",
}


def _call(action: str, workspace: str, agent: str = "", user: str = "", roles: tuple[str, ...] = ()) -> Call:
    """Returns the call that an action string stands for, so that the floor sees its command and its files. An
    action that the document's table does not have is put to the rules as it is."""
    tool, args = _tool(action)
    subjects = () if tool else (action,)
    return Call(tool or "chorus", args, agent=agent, user=user, roles=roles, dir=workspace, roots=(workspace,), subjects=subjects)


def _tool(action: str) -> tuple[str, dict[str, Any]]:
    rest = action.removeprefix("tool:")
    if rest == action:
        return "", {}
    for name, key in _FIELDS.items():
        if rest.startswith(name + ":"):
            return name.replace(":", "_"), {key: rest[len(name) + 1 :]}
    if rest in ("git:init", "git:commit", "self_edit:system_prompt"):
        return rest.replace(":", "_"), {}
    words = rest.split(" ")
    match words:
        case ["git:push", remote, branch]:
            return "git_push", {"remote": remote, "branch": branch}
        case ["git:branch", name]:
            return "git_branch", {"name": name}
        case ["git:merge_request", target]:
            return "git_merge_request", {"target": target}
    return "", {}


def _note(said: Mapping[str, Any]) -> str:
    return str(said.get("reason") or "") if said.get("stage") == "floor" else ""


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
