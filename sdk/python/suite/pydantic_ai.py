"""Pydantic AI: `requires_approval` and DeferredToolResults on the other side."""

from __future__ import annotations

import asyncio
import json
from datetime import date
from typing import Any, ClassVar

import pydantic_ai
from pydantic import BaseModel, Field, SecretStr
from pydantic_ai import ApprovalRequired, DeferredToolRequests, DeferredToolResults, RunContext, Tool, ToolApproved
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from obstat_sdk.adapters.pydantic_ai import ObstatCapability

from .cases import SUB, Driver, Turn, Use, World

PACKAGE = "pydantic-ai-slim"
pydantic_ai.models.ALLOW_MODEL_REQUESTS = False


def script(w: World, turns: list[Turn]) -> FunctionModel:
    """Does what the turn says: as many turns are over as there are answers of it."""

    def now(messages: list[Any]) -> tuple[int, Turn]:
        w.saw(messages)
        at = sum(isinstance(m, ModelResponse) for m in messages)
        return at, turns[at] if at < len(turns) else "end"

    def answer(messages: list[Any], _: Any) -> ModelResponse:
        at, turn = now(messages)
        if isinstance(turn, str):
            return ModelResponse([TextPart(turn)])
        return ModelResponse([ToolCallPart(n, a, w.id(at, i)) for i, (n, a) in enumerate(turn)])

    async def stream(messages: list[Any], _: Any) -> Any:
        at, turn = now(messages)
        if isinstance(turn, str):
            yield turn
            return
        for i, (n, a) in enumerate(turn):
            yield {i: DeltaToolCall(n, json.dumps(a), tool_call_id=w.id(at, i))}

    return FunctionModel(answer, stream_function=stream)


def model(w: World) -> Any:
    """The model of the page's example."""
    return script(w, SUB)


class Agent(Driver):
    """One conversation; what is saved are its messages."""

    notes: ClassVar = {
        ("forged", True): "the results are the approval: whoever sends them approves",
        ("replayed", True): "messages that are sent twice run the call twice",
        ("edited", True): "override_args are checked against the schema alone",
        ("other-tool", True): "the messages are the application's: the approval is for the call's id",
        ("crash", True): "every process that has the messages runs the call",
        ("added", True): "a tool without requires_approval runs",
    }

    def __init__(self, world: World, turns: list[Turn], **more: Any) -> None:
        super().__init__(world, turns, **more)
        self.messages: Any = None
        self.asked: DeferredToolRequests | None = None
        self.build()

    def agent(self, turns: list[Turn], tools: Any) -> Any:
        w = self.world
        more = {} if w.own else {"capabilities": [ObstatCapability(w.guard())]}
        return pydantic_ai.Agent(script(w, turns), toolsets=[tools], output_type=[str, DeferredToolRequests], **more)

    def tools(self) -> Any:
        w, own = self.world, self.world.own
        return FunctionToolset([Tool(w.safe), Tool(w.pay, requires_approval=own), Tool(w.wipe, requires_approval=own)])

    def build(self) -> None:
        self.toolset = self.tools()
        if self.sub:
            inner = self.agent(SUB, self.tools())

            async def helper(request: str) -> str:
                """Asks another agent."""
                return str((await inner.run(request)).output)

            self.toolset.add_function(helper)
        self.outer = self.agent(self.turns, self.toolset)

    def go(self, prompt: str | None, **more: Any) -> None:
        async def run() -> Any:
            if not self.stream:
                return await self.outer.run(prompt, **more)
            async with self.outer.run_stream(prompt, **more) as result:
                await result.get_output()
                return result

        result = asyncio.run(run())
        output = asyncio.run(result.get_output()) if self.stream else result.output
        self.messages = result.all_messages()
        self.asked = output if isinstance(output, DeferredToolRequests) else None

    def start(self) -> None:
        self.go("go on")

    def resume(self, edit: dict[str, Any] | None = None, tool: str | None = None) -> None:
        if self.asked is None:
            return
        approvals: dict[str, Any] = {}
        for call in self.asked.approvals:
            approvals[call.tool_call_id] = (ToolApproved(override_args=edit) if edit and not tool else True) if call.tool_name == "pay" else False
        if tool:
            for message in self.messages:
                for part in message.parts:
                    if isinstance(part, ToolCallPart) and part.tool_name == "pay":
                        part.tool_name, part.args = tool, edit
        self.go(None, message_history=self.messages, deferred_tool_results=DeferredToolResults(approvals=approvals))

    def save(self) -> Any:
        return ModelMessagesTypeAdapter.dump_json(self.messages), self.asked

    def load(self, saved: Any) -> None:
        self.messages, self.asked = ModelMessagesTypeAdapter.validate_json(saved[0]), saved[1]
        self.build()

    def add(self) -> None:
        self.toolset.add_function(self.world.wipe2)


class Order(BaseModel):
    """An order that keeps some of itself out of its JSON."""

    to: str
    amount: int = Field(serialization_alias="a")
    note: str = Field(exclude=True)
    day: date


def all_is_shown(w: World) -> None:
    """Policy and person see secrets, fields that are left out, and names as the function has them; what a
    person changes comes as models and dates, and the rest stays as it was."""
    got: list[Any] = []

    def pay(order: Order, key: SecretStr, when: date) -> str:
        """Pays an order."""
        got.append((order, key, when))
        return "done"

    args = {"order": {"to": "bob", "amount": 5, "note": "for eve", "day": "2026-11-17"}, "key": "s3cret", "when": "2026-11-18"}
    capability = ObstatCapability(w.guard())
    agent: Any = pydantic_ai.Agent(script(w, [[("pay", args)], "end"]), tools=[Tool(pay)], output_type=[str, DeferredToolRequests], capabilities=[capability])
    result = agent.run_sync("go on")
    (asked,) = [r for r in w.server.pending() if r["call"].get("session") == w.nonce]
    seen = asked["call"]["input"]
    assert seen["order"] == args["order"] and seen["when"] == args["when"] and "key" in seen, seen
    w.server.answer(asked["id"], input={**seen, "order": {**seen["order"], "amount": 4, "day": "2026-12-01"}})
    (call,) = result.output.approvals
    agent.run_sync(message_history=result.all_messages(), deferred_tool_results=DeferredToolResults(approvals={call.tool_call_id: True}))
    ((order, key, when),) = got
    assert order == Order(to="bob", amount=4, note="for eve", day=date(2026, 12, 1)), order
    assert isinstance(key, SecretStr) and when == date(2026, 11, 18), (key, when)


MODES = [("run", "none"), ("run", "requires_approval"), ("run", "approval asked inside")]


def attempt(w: World, mode: str, rule: str, call: Use) -> str:
    """Makes one call of a tool with an approval of its own."""
    name, run = call[0], getattr(w, call[0])

    def inside(ctx: RunContext[None], **kwargs: Any) -> str:
        raise ApprovalRequired

    tool = Tool(run, requires_approval=rule == "requires_approval")
    if rule == "approval asked inside":
        tool = Tool.from_schema(inside, name, "asks", tool.function_schema.json_schema, takes_ctx=True)
    more = {} if w.own else {"capabilities": [ObstatCapability(w.guard())]}
    agent: Any = pydantic_ai.Agent(script(w, [[call], "end"]), tools=[tool], output_type=[str, DeferredToolRequests], **more)
    result = agent.run_sync("go on")
    return "ran" if w.ran else "asked" if isinstance(result.output, DeferredToolRequests) else "refused"


CHECKS = [all_is_shown]
