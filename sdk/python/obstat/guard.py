"""What every adapter does around the function that runs a tool."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ._types import Call, Decision, ObstatError, decode_input
from .client import AsyncClient, Client

Asking = Literal["pause", "wait", "deny"]


@dataclass(frozen=True)
class Checked:
    """A decision, and the arguments to run the tool with if it allows."""

    decision: Decision
    args: dict[str, Any]

    @property
    def allowed(self) -> bool:
        """Tells whether the tool may run, now and once, with `args`."""
        return self.decision.effect == "allow"

    @property
    def asking(self) -> bool:
        """Tells whether a person is being asked."""
        return self.decision.effect == "ask"

    @property
    def message(self) -> str:
        """Tells the model why the call did not run."""
        if self.asking:
            return f"Not run: a person has to approve this call first ({self.decision.reason})."
        return f"Denied: {self.decision.reason}"

    def question(self, tool: str) -> dict[str, Any]:
        """Returns what a pause shows the application. It holds the id of the request and no
        verdict: people answer in obstat."""
        return {"obstat": {"request": self.decision.id, "tool": tool, "input": self.args, "reason": self.decision.reason}}


class Guard:
    """Decides calls for an adapter. Nothing that it is given or that happens makes it raise:
    whatever goes wrong is a decision that denies.

    `ask` says what an ask does: "pause" the run by the framework's own means, "wait" up to
    `wait` seconds for the answer, or "deny".
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        token: str | None = None,
        agent: str = "",
        session: str = "",
        dir: str | None = None,
        ask: Asking = "pause",
        wait: float = 300,
        timeout: float = 5.0,
        start: bool | None = None,
    ) -> None:
        if ask not in ("pause", "wait", "deny"):
            raise ValueError(f'ask is "pause", "wait" or "deny", not {ask!r}')
        self.ask, self.wait = ask, wait
        self._agent, self._session, self._dir = agent, session, dir
        self._sync = Client(server, token=token, timeout=timeout, start=start)
        self._async = AsyncClient(server, token=token, timeout=timeout, start=start)

    def check(self, tool: str, args: Mapping[str, Any] | str, *, id: str | None = None, session: str = "") -> Checked:
        """Decides a call. `args` may be the JSON that the model wrote."""
        try:
            call = self._call(tool, args, id, session)
            return self._checked(call, self._sync.authorize(call, wait=self._wait))
        except Exception as e:
            return _denied(e)

    async def acheck(self, tool: str, args: Mapping[str, Any] | str, *, id: str | None = None, session: str = "") -> Checked:
        """`check` for asyncio."""
        try:
            call = self._call(tool, args, id, session)
            return self._checked(call, await self._async.authorize(call, wait=self._wait))
        except Exception as e:
            return _denied(e)

    async def peek(self, tool: str, args: Mapping[str, Any] | str, *, id: str | None = None, session: str = "") -> Checked:
        """Tells what `acheck` would say now, and takes no approval: one that is there is an ask
        whose state is "approved"."""
        try:
            call = self._call(tool, args, id, session)
            d = await self._async.authorize(call, claim=False)
            return Checked(d, call.put().input())
        except Exception as e:
            return _denied(e)

    async def needs_pause(self, tool: str, args: Mapping[str, Any] | str, *, id: str | None = None, session: str = "") -> bool:
        """Tells whether the run has to pause until a person has answered."""
        return self.ask == "pause" and (await self.peek(tool, args, id=id, session=session)).decision.state == "pending"

    def done(self, checked: Checked, error: BaseException | None = None) -> None:
        """Reports how the call went. The call has run, so that nothing here may fail it."""
        with contextlib.suppress(ObstatError):
            self._sync.report(checked.decision.id, error is None, _words(error))

    async def adone(self, checked: Checked, error: BaseException | None = None) -> None:
        """`done` for asyncio."""
        with contextlib.suppress(ObstatError):
            await self._async.report(checked.decision.id, error is None, _words(error))

    @property
    def _wait(self) -> float:
        return self.wait if self.ask == "wait" else 0

    def _call(self, tool: str, args: Mapping[str, Any] | str, id: str | None, session: str) -> Call:
        given = decode_input(args) if isinstance(args, str) else args
        return Call(tool, given, id=id, session=session or self._session, agent=self._agent, dir=self._dir)

    def _checked(self, call: Call, d: Decision) -> Checked:
        if d.effect == "ask" and self.ask != "pause":
            late = "nobody has answered in time" if self.ask == "wait" else "nobody can be asked here"
            d = replace(d, effect="deny", reason=f"{late}: {d.reason}")
        # A copy of what was decided, so that nobody changes it in between.
        return Checked(d, d.input if d.input is not None else call.put().input())


def _words(error: BaseException | None) -> str:
    return "" if error is None else f"{type(error).__name__}: {error}"[:500]


def _denied(e: Exception) -> Checked:
    if isinstance(e, ObstatError):
        return Checked(e.decision, {})
    return Checked(Decision("deny", f"the call could not be decided: {type(e).__name__}: {e}"), {})
