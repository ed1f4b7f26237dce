"""AgentScope 2: obstat in place of its permission engine, with its own confirm flow.

    from obstat_sdk.adapters.agentscope import Agent  # in place of agentscope.agent's

The agent's PermissionContext is the policy: mode, rules and working directories go to obstat's engine
with each call, as they are then, and with the answers of the tool's own `check_permissions`,
`check_read_only`, `match_rule` and `generate_suggestions`. An ask is `RequireUserConfirmEvent` with its
suggested rules, a `UserConfirmResultEvent` answers the very call that was asked about, and its rules go
into the context.

Beside an obstat policy (`Agent(..., guard=Guard())`, `protect(agent, Guard())`) both decide, and the
stricter holds; an allow of obstat's lifts only the question that AgentScope asks for want of a rule.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import agentscope
from agentscope.agent import Agent as _Agent
from agentscope.message import TextBlock, ToolCallState, ToolResultState
from agentscope.permission import PermissionBehavior, PermissionContext, PermissionDecision, PermissionMode, PermissionRule
from agentscope.permission import PermissionEngine as _Engine
from agentscope.tool import ToolBase, ToolChunk, ToolResponse

from .._types import BadCall, Call, ConfigError, ObstatError, decode_input, encode, told
from ..client import AsyncClient
from ..guard import Checked, Guard, copied

__all__ = ["Agent", "ObstatEngine", "PermissionEngine", "protect"]

A = TypeVar("A")

_now: ContextVar[Any] = ContextVar("obstat_tool_call", default=None)

HEAD = tuple(int(n) if n.isdigit() else 0 for n in agentscope.__version__.split(".")[:3]) >= (2, 0, 5)
"""Since 2.0.5 read-only calls are allowed in every mode."""


class Judge(Protocol):
    """Decides by a policy that comes with the call: `AsyncClient`, `Client` or `obstat_sdk.wasm.Trials`."""

    def decide_by(self, policy: Mapping[str, Any], call: Call, said: Mapping[str, Any] | None = None) -> Any:
        """Returns the decision, or an awaitable of it."""


class PermissionEngine(_Engine):
    """Takes the place of AgentScope's engine: it has the same methods, and obstat decides.

    `judge` is what decides, by default the server; `guard`, if there is one, puts each call to the policy
    in force as well. `limit` is how many seconds each answer of a tool may take. Whatever goes wrong denies.
    """

    def __init__(
        self,
        context: PermissionContext,
        *,
        guard: Guard | None = None,
        judge: Judge | None = None,
        person: AsyncClient | None = None,
        session: str = "",
        dir: str | None = None,
        limit: float = 10,
    ) -> None:
        super().__init__(context)
        self.guard, self.person, self.session, self.limit, self._dir = guard, person, session, limit, dir
        self._accepted: dict[str, list[Any]] = {}  # the rules of confirmations, by the call's id
        self._judge: Judge = judge or (guard.client if guard is not None else AsyncClient())
        self._parsed: dict[str, tuple[str, dict[str, Any]]] = {}
        self._asked: dict[str, tuple[str, bytes]] = {}  # what was asked about, by the call's id
        self._tools: dict[str, Any] = {}

    async def check_permission(self, tool: Any, tool_input: dict[str, Any]) -> Any:
        """Decides a call. An approval in obstat is left where it is until the tool runs."""
        call, confirmed = _now.get() or (None, False)
        if call is not None:
            self._parsed[call.id], self._tools[call.id] = (call.input, tool_input), tool
        try:
            put = copied(tool_input)
            own, liftable = await self._own(tool, put)
        except Exception as e:
            return _denied(tool, e)
        answered = confirmed and self._answered(call, put)
        if own.behavior == PermissionBehavior.ASK:
            if answered and self.guard is None:
                return PermissionDecision(behavior=PermissionBehavior.ALLOW, message="Already allowed by user confirmation.")
            if not answered and not (liftable and self.guard is not None):
                return await self._asks(own, call, tool, put)
        if own.behavior == PermissionBehavior.DENY or self.guard is None:
            return own
        return await self._beside(self.guard, own, call, tool, put, answered)

    async def _asks(self, own: Any, call: Any, tool: Any, put: dict[str, Any]) -> Any:
        """Asks AgentScope's question, unless obstat denies the call anyway."""
        refused = await self.guard.refuses(tool.name, put, session=self.session) if self.guard is not None else None
        if refused is not None:
            return _decision(refused, self.guard, claimed=False)
        if call is not None:
            self._asked[call.id] = (tool.name, encode(put))
        return own

    async def _beside(self, guard: Guard, own: Any, call: Any, tool: Any, put: dict[str, Any], answered: bool) -> Any:
        """Puts a call that the context does not refuse to the policy in force."""
        id = call.id if call is not None else None
        seen = await guard.peek(tool.name, put, id=id, session=self.session)
        offers: list[Any] = []
        if self.person is not None and seen.asking and seen.decision.state == "pending" and seen.decision.id is not None:
            try:
                offers = _offered(await self.person.asked(seen.decision.id))
                if answered:
                    await self.person.answer(seen.decision.id, True, _chosen(offers, self._accepted.pop(id or "", [])))
                    seen = await guard.peek(tool.name, put, id=id, session=self.session)
            except ObstatError as e:
                told(e)  # it is asked about still, in obstat
        mine = _decision(seen, guard, claimed=False)
        if mine.behavior == PermissionBehavior.ASK:
            own_rules = own.suggested_rules or []
            mine.suggested_rules = [*own_rules, *(r for _, r in offers if not any(_same(r, o) for o in own_rules))]
            if call is not None:
                self._asked[call.id] = (tool.name, encode(put))
        if mine.behavior != PermissionBehavior.ALLOW or not tool.is_external_tool:
            return mine
        # The application runs an external tool, so that its approval is taken now.
        return _decision(await guard.acheck(tool.name, put, id=id, session=self.session), guard, claimed=True)

    def confirmed(self, event: Any) -> None:
        """Remembers the rules that come with confirmations."""
        for result in getattr(event, "confirm_results", None) or ():
            if result.confirmed:
                self._accepted[result.tool_call.id] = list(result.rules or ())

    def confirming(self, calls: list[Any]) -> None:
        """Remembers the calls that wait for a confirmation, as they are before it comes: also those that
        were asked about in another process."""
        for call in calls:
            if call.state == ToolCallState.ASKING:
                try:
                    self._asked.setdefault(call.id, (call.name, encode(decode_input(call.input))))
                except BadCall:
                    continue  # AgentScope has mended it: the process that asked knows it

    def _answered(self, call: Any, put: dict[str, Any]) -> bool:
        """Tells whether a person has confirmed the very call that was asked about, and spends that."""
        return call is not None and self._asked.pop(call.id, None) == (call.name, encode(put))

    async def _own(self, tool: Any, put: dict[str, Any]) -> tuple[Any, bool]:
        """Returns what the context says, and whether it asks only for want of a rule."""
        context = self.context
        _known(context)
        said = await self._hear(tool, put, context)
        policy = {
            "dialect": "agentscope",
            "files": [{"text": context.model_dump_json()}],
            "options": {"version": "head"} if HEAD else {},
        }
        out = self._judge.decide_by(policy, Call(tool.name, put, session=self.session, agent="agentscope", dir=self._dir), said)
        if inspect.isawaitable(out):
            out = await out
        words = out.get("words")
        if not isinstance(words, dict) or words.get("behavior") != out["verdict"] or not isinstance(words.get("message"), str):
            raise ObstatError("the decision has no words of AgentScope's")
        own = PermissionDecision(
            behavior=PermissionBehavior(words["behavior"]),
            message=words["message"],
            decision_reason=words.get("decision_reason"),
            suggested_rules=[PermissionRule(**r) for r in words.get("suggested_rules") or ()],
            bypass_immune=words.get("bypass_immune") is True,
        )
        if own.behavior == PermissionBehavior.ALLOW:
            own.suggested_rules = None
            own.updated_input = put if out.get("stage") == "allow rules" else None
        return own, own.behavior == PermissionBehavior.ASK and out.get("stage") == "default"

    async def _hear(self, tool: Any, put: dict[str, Any], context: PermissionContext) -> dict[str, Any]:
        """Asks the tool itself. What its check raises, or does not answer in time, denies."""
        contents = {r.rule_content for b in (context.deny_rules, context.ask_rules, context.allow_rules) for r in b.get(tool.name, ())}
        check: Any = PermissionDecision(behavior=PermissionBehavior.PASSTHROUGH, message="")
        if context.mode != PermissionMode.EXPLORE:
            check = await self._answer(tool, "check_permissions", copied(put), context)
            if not isinstance(getattr(check, "behavior", None), PermissionBehavior) or not isinstance(check.message, str):
                raise ObstatError(f"check_permissions of {tool.name} answered {check!r:.100}, which is no PermissionDecision")
        try:
            rules = list(await self._answer(tool, "generate_suggestions", copied(put)) or ())
        except Exception:
            rules = []  # nothing hangs on them
        return {
            "known": type(tool).__module__.startswith("agentscope.tool.") and not getattr(tool, "is_mcp", False),
            "mcp": bool(getattr(tool, "is_mcp", False)),
            "matcher": getattr(type(tool), "match_rule", None) is not ToolBase.match_rule,
            "read_only": await self._answer(tool, "check_read_only", copied(put)) is True,
            "check": {
                "behavior": check.behavior.value,
                "bypass_immune": check.bypass_immune is True,
                "message": check.message,
                "decision_reason": check.decision_reason or "",
            },
            "matches": sorted([c for c in contents if c and await self._answer(tool, "match_rule", c, copied(put)) is True]),
            "suggestions": [r.rule_content for r in rules if r.tool_name == tool.name],
        }

    async def _answer(self, tool: Any, method: str, *args: Any) -> Any:
        try:
            return await asyncio.wait_for(getattr(tool, method)(*args), self.limit)
        except asyncio.TimeoutError:
            raise ObstatError(f"{method} of {tool.name} gave no answer in {self.limit:g} seconds") from None
        except Exception as e:
            raise ObstatError(f"{method} of {tool.name} raised {type(e).__name__}: {e}") from None

    async def take(self, call: Any) -> Checked:
        """Decides a call that is about to run by the policy in force, and takes its approval."""
        assert self.guard is not None
        args = self.decided(call)
        if isinstance(args, Checked):
            return args
        checked = await self.guard.acheck(call.name, args, id=call.id, session=self.session)
        if checked.allowed and checked.decision.input is not None:  # changed by a person: the context's denials hold for that, too
            try:
                own, _ = await self._own(self._tools[call.id], checked.args)
            except Exception as e:
                own = _denied(self._tools.get(call.id), e)
            if own.behavior == PermissionBehavior.DENY:
                return Checked(replace(checked.decision, effect="deny", reason=own.message), {})
        return checked

    def decided(self, call: Any) -> dict[str, Any] | Checked:
        """Returns the arguments that were decided: AgentScope mends what models write badly."""
        try:
            return decode_input(call.input)
        except BadCall as e:
            seen = self._parsed.get(call.id)
            return Checked(e.decision, {}) if seen is None or seen[0] != call.input else seen[1]


def _offered(request: Mapping[str, Any]) -> list[tuple[int, Any]]:
    """Returns those of a request's offers, with their numbers, that AgentScope can write: `Bash(npm run:*)`."""
    out = []
    for n, offer in enumerate(request.get("offers") or (), 1):
        found = re.fullmatch(r"(\w+)(?:\((.*)\))?", str(offer.get("text")), re.DOTALL)
        if found:
            out.append((n, PermissionRule(tool_name=found[1], rule_content=found[2], behavior=PermissionBehavior.ALLOW, source="suggested")))
    return out


def _same(a: Any, b: Any) -> bool:
    return (a.tool_name, a.rule_content, a.behavior) == (b.tool_name, b.rule_content, b.behavior)


def _chosen(offers: list[tuple[int, Any]], accepted: list[Any]) -> list[int]:
    """Returns the numbers of the offers that a confirmation has accepted."""
    return [n for n, rule in offers if any(_same(rule, a) for a in accepted)]


ObstatEngine = PermissionEngine

CONTEXT = {"mode", "working_directories", "allow_rules", "deny_rules", "ask_rules"}
RULE = {"tool_name", "rule_content", "behavior", "source"}


def _known(context: PermissionContext) -> None:
    """Raises where the context of a newer release says something that obstat does not read: it could forbid."""
    given = context.model_dump()
    more = [k for k, v in given.items() if k not in CONTEXT and v]
    for bucket in ("allow_rules", "deny_rules", "ask_rules"):
        more += [k for rules in given[bucket].values() for r in rules for k, v in r.items() if k not in RULE and v]
    if more:
        raise ObstatError(f"the permission context has {more[0]!r}, which this version of obstat does not know")


def _denied(tool: Any, e: Exception) -> Any:
    name, why = getattr(tool, "name", tool), told(e)
    return PermissionDecision(behavior=PermissionBehavior.DENY, message=f"Permission denied for {name}: {why}", decision_reason=why)


async def _masked(guard: Guard, checked: Checked, response: Any) -> Any:
    """Returns a response whose texts hold no secrets."""
    content = []
    for block in response.content:
        text = isinstance(block, TextBlock)
        content.append(block.model_copy(update={"text": await guard.ashown(checked, block.text)}) if text else block)
    return response.model_copy(update={"content": content})


def _decision(checked: Checked, guard: Guard | None, claimed: bool) -> Any:
    """Returns a decision of the policy in force in AgentScope's form. What is not claimed yet is decided when it runs."""
    d = checked.decision
    if checked.asking and d.state == "pending" and guard is not None and guard.ask == "pause":
        return PermissionDecision(behavior=PermissionBehavior.ASK, message=d.reason, decision_reason=d.reason, suggested_rules=[], bypass_immune=True)
    if checked.allowed or (checked.asking and not claimed):
        return PermissionDecision(behavior=PermissionBehavior.ALLOW, message=d.reason, decision_reason=d.reason)
    return PermissionDecision(behavior=PermissionBehavior.DENY, message=checked.message, decision_reason=d.reason)


def protect(
    agent: A,
    guard: Guard | None = None,
    *,
    judge: Judge | None = None,
    person: AsyncClient | None = None,
    dir: str | None = None,
    limit: float = 10,
) -> A:
    """Puts obstat in the place of an agent's permission engine, and around its tools. Raises `ConfigError`
    where the agent has none: what it would have denied would be lost. `person` is a client with the token of the
    person whose confirmations come in: they answer what the guard's policy asks as well, with the rules."""
    a: Any = agent
    own = getattr(a, "_engine", None)
    if not isinstance(own, _Engine):
        raise ConfigError(f"the agent {getattr(a, 'name', a)} has no permission engine that obstat could take the place of")
    if isinstance(own, PermissionEngine) and a.__dict__.get("_obstat"):
        raise ConfigError(f"the agent {a.name} is protected already")
    engine = PermissionEngine(own.context, guard=guard, judge=judge, person=person, session=a.state.session_id, dir=dir, limit=limit)
    execute, act, handle = a._execute_tool_call, a._acting_impl, a._handle_incoming_event

    async def execute_tool_call(call: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        confirmed = call.state == ToolCallState.ALLOWED
        if confirmed:
            call.state = ToolCallState.PENDING  # a confirmation only makes it look again
        engine.context = a.state.permission_context  # which may have been replaced
        _now.set((call, confirmed))
        async for event in execute(call, *args, **kwargs):
            yield event

    async def incoming(event: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        if a.state.context:
            engine.confirming(a.state.context[-1].get_content_blocks("tool_call"))
        engine.context = a.state.permission_context
        engine.confirmed(event)
        async for out in handle(event, *args, **kwargs):
            yield out

    async def acting(call: Any) -> AsyncGenerator[Any, None]:
        checked = await engine.take(call) if guard is not None else engine.decided(call)
        if isinstance(checked, Checked) and not checked.allowed:
            chunk = ToolChunk(content=[TextBlock(text=checked.message)], state=ToolResultState.DENIED)
            yield chunk
            yield ToolResponse(id=call.id).append_chunk(chunk)
            return
        args = checked.args if isinstance(checked, Checked) else checked
        ran = call.model_copy(update={"input": json.dumps(args, ensure_ascii=False)})
        try:
            async for item in act(ran):
                if guard is not None and isinstance(checked, Checked) and isinstance(item, ToolResponse):
                    item = await _masked(guard, checked, item)  # the whole of it, for the model; chunks are for the person
                yield item
        except BaseException as e:
            if guard is not None and isinstance(checked, Checked):
                await guard.adone(checked, e)
            raise
        if guard is not None and isinstance(checked, Checked):
            await guard.adone(checked)

    a._obstat = True
    a._engine, a._execute_tool_call, a._acting_impl, a._handle_incoming_event = engine, execute_tool_call, acting, incoming
    return agent


class Agent(_Agent):
    """AgentScope's agent, with obstat in the place of its permission engine."""

    def __init__(self, *args: Any, guard: Guard | None = None, judge: Judge | None = None, person: AsyncClient | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        protect(self, guard, judge=judge, person=person)
