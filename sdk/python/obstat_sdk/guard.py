"""What every adapter does around the function that runs a tool."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ._types import Call, Decision, ObstatError, Printed, decode_input, encode, for_model, told
from .client import AsyncClient, Client

_GIVEN_UP = "nobody waits for the answer"
Asking = Literal["pause", "wait", "deny"]


@dataclass(frozen=True)
class Checked:
    """A decision, and the arguments to run the tool with if it allows."""

    decision: Decision
    args: dict[str, Any]
    call: Call | None = None
    """The call as it runs, with `args`; None where it does not."""

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
        """Tells the model why the call did not run, without the directories of this machine."""
        if self.asking:
            return f"Not run: a person has to approve this call first ({for_model(self.decision)})."
        return f"Denied: {for_model(self.decision)}"

    def question(self, tool: str) -> dict[str, Any]:
        """Returns what a pause shows the application. It holds the id of the request and no
        verdict: people answer in obstat."""
        return {"obstat": {"request": self.decision.id, "tool": tool, "input": self.args, "reason": self.decision.reason}}


class Guard:
    """Decides calls for an adapter. Nothing that it is given or that happens makes it raise:
    whatever goes wrong is a decision that denies.

    `ask` says what an ask does: "pause" the run by the framework's own means, "wait" up to
    `wait` seconds for the answer, or "deny". `dir` is where all calls are made; without it where
    the framework says, else where the process stands. `mask=False` shows the model the secrets that tools print.
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        token: str | None = None,
        agent: str = "",
        session: str = "",
        user: str = "",
        dir: str | None = None,
        roots: tuple[str, ...] = (),
        ask: Asking = "pause",
        wait: float = 300,
        timeout: float = 5.0,
        start: bool | None = None,
        mask: bool = True,
    ) -> None:
        if ask not in ("pause", "wait", "deny"):
            raise ValueError(f'ask is "pause", "wait" or "deny", not {ask!r}')
        self.ask, self.wait, self.mask = ask, wait, mask
        self._agent, self._session, self._user, self._dir, self._roots = agent, session, user, dir, tuple(roots)
        self._sync = Client(server, token=token, timeout=timeout, start=start)
        self._async = AsyncClient(server, token=token, timeout=timeout, start=start)

    @property
    def client(self) -> AsyncClient:
        """The client that calls are put by, for asyncio."""
        return self._async

    def check(self, tool: str, args: Mapping[str, Any] | str, *, id: str | None = None, session: str = "", dir: str | None = None) -> Checked:
        """Decides a call. `args` may be the JSON that the model wrote; `dir` is where the framework
        says that the call is made, if it says so."""
        try:
            call = self._call(tool, args, id, session, dir)
            d = self._sync.authorize(call, wait=self._wait)
            if self._gives_up(d):
                with contextlib.suppress(ObstatError):
                    self._sync.report(d.id, False, _GIVEN_UP)
            return self._checked(call, d)
        except Exception as e:
            return _denied(e)

    async def acheck(self, tool: str, args: Mapping[str, Any] | str, *, id: str | None = None, session: str = "", dir: str | None = None) -> Checked:
        """`check` for asyncio."""
        try:
            call = self._call(tool, args, id, session, dir)
            d = await self._awaited(call)
            if self._gives_up(d):
                with contextlib.suppress(ObstatError):
                    await self._async.report(d.id, False, _GIVEN_UP)
            return self._checked(call, d)
        except Exception as e:
            return _denied(e)

    async def peek(self, tool: str, args: Mapping[str, Any] | str, *, id: str | None = None, session: str = "", dir: str | None = None) -> Checked:
        """Tells what `acheck` would say now, and takes no approval: one that is there is an ask
        whose state is "approved"."""
        try:
            call = self._call(tool, args, id, session, dir)
            return Checked(await self._async.authorize(call, claim=False), copied(call.input))
        except Exception as e:
            return _denied(e)

    async def refuses(self, tool: str, args: Mapping[str, Any] | str, *, session: str = "", dir: str | None = None) -> Checked | None:
        """Returns the refusal of a call that would be denied now, else None. Nobody is asked and
        nothing is recorded."""
        try:
            call = self._call(tool, args, None, session, dir)
            view = await self._async.explain(call)
        except Exception as e:
            return _denied(e)
        if view.get("verdict") in ("allow", "ask"):
            return None
        return Checked(Decision("deny", str(view.get("reason") or "the call is denied")), {})

    async def needs_pause(self, tool: str, args: Mapping[str, Any] | str, *, id: str | None = None, session: str = "") -> bool:
        """Tells whether the run has to pause until a person has answered."""
        return self.ask == "pause" and (await self.peek(tool, args, id=id, session=session)).decision.state == "pending"

    def still_asked(self, tool: str, args: Mapping[str, Any] | str, *, id: str | None = None) -> bool:
        """`needs_pause` for a framework that cannot await: a run that was resumed before the answer."""
        try:
            return self.ask == "pause" and self._sync.authorize(self._call(tool, args, id, "", None), claim=False).state == "pending"
        except Exception:
            return False  # the call is put again before it runs, and denied there

    def done(self, checked: Checked, error: BaseException | None = None) -> None:
        """Reports how the call went. The call has run, so that nothing here may fail it."""
        with contextlib.suppress(ObstatError):
            self._sync.report(checked.decision.id, error is None, _words(error))

    async def adone(self, checked: Checked, error: BaseException | None = None) -> None:
        """`done` for asyncio."""
        with contextlib.suppress(ObstatError):
            await self._async.report(checked.decision.id, error is None, _words(error))

    def shown(self, checked: Checked, output: Any, *, failed: bool = False) -> Any:
        """Returns a tool's output as the model may read it: without secrets. One that cannot be looked through is withheld."""
        if not self.mask or checked.call is None:
            return output
        try:
            return _noted(self._sync.printed(checked.call, output, failed=failed))
        except Exception as e:
            return _withheld(e)

    async def ashown(self, checked: Checked, output: Any, *, failed: bool = False) -> Any:
        """`shown` for asyncio."""
        if not self.mask or checked.call is None:
            return output
        try:
            return _noted(await self._async.printed(checked.call, output, failed=failed))
        except Exception as e:
            return _withheld(e)

    async def _awaited(self, call: Call) -> Decision:
        """Decides a call. Where the run is cancelled while it waits for a person, the request is taken back."""
        if not self._wait or call.id is None:
            return await self._async.authorize(call, wait=self._wait)
        d = await self._async.authorize(call)  # the request's name, which a cancelled wait does not tell
        if d.effect != "ask":
            return d
        try:
            return await self._async.authorize(call, wait=self._wait)
        except asyncio.CancelledError:
            with contextlib.suppress(ObstatError):
                await asyncio.shield(self._async.report(d.id, False, "the run was cancelled"))
            raise

    def _gives_up(self, d: Decision) -> bool:
        """Tells whether a request is left without anybody who waits for its answer."""
        return d.effect == "ask" and self.ask != "pause" and d.id is not None and d.state == "pending"

    @property
    def _wait(self) -> float:
        return self.wait if self.ask == "wait" else 0

    def _call(self, tool: str, args: Mapping[str, Any] | str, id: str | None, session: str, dir: str | None) -> Call:
        # A copy, which the caller's object does not change while a person is asked: what is decided
        # is what is approved, and what runs.
        given = decode_input(args) if isinstance(args, str) else copied(args)
        where = self._dir if self._dir is not None else dir
        return Call(tool, given, id=id, session=session or self._session, agent=self._agent, user=self._user, dir=where, roots=self._roots)

    def _checked(self, call: Call, d: Decision) -> Checked:
        if d.effect == "ask" and self.ask != "pause":
            late = "nobody has answered in time" if self.ask == "wait" else "nobody can be asked here"
            d = replace(d, effect="deny", reason=f"{late}: {d.reason}")
        args = copied(d.input if d.input is not None else call.input)
        return Checked(d, args, replace(call, input=args) if d.allowed else None)


def copied(args: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a copy of arguments as JSON has them. Raises `BadCall`."""
    out: dict[str, Any] = json.loads(encode(args))
    return out


def _words(error: BaseException | None) -> str:
    return "" if error is None else f"{type(error).__name__}: {error}"[:500]


def _noted(p: Printed) -> Any:
    """Returns an output with a word about its secrets, where it is a text; an object keeps its shape."""
    return f"{p.output}\n\n({p.note})" if p.secrets and isinstance(p.output, str) else p.output


def _withheld(e: Exception) -> str:
    return f"The tool has run. Its output is withheld, for it could not be looked through for secrets: {told(e)}."


def _denied(e: Exception) -> Checked:
    if isinstance(e, ObstatError):
        return Checked(replace(e.decision, effect="deny", reason=told(e)), {})
    return Checked(Decision("deny", told(e)), {})
