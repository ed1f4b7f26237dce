"""openJiuwen, which JiuwenSwarm's permissions are made of: its own rail and engine on the other side."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
from typing import Any, ClassVar

from openjiuwen.core.foundation.llm import AssistantMessage
from openjiuwen.core.foundation.llm.schema.message_chunk import AssistantMessageChunk
from openjiuwen.core.foundation.llm.schema.tool_call import ToolCall
from openjiuwen.core.foundation.tool import LocalFunction, ToolCard
from openjiuwen.core.runner import Runner
from openjiuwen.core.session import InteractiveInput
from openjiuwen.core.session.agent import create_agent_session
from openjiuwen.core.single_agent.agents.react_agent import ReActAgent
from openjiuwen.core.single_agent.interrupt.state import INTERRUPTION_KEY
from openjiuwen.core.single_agent.schema.agent_card import AgentCard
from openjiuwen.harness.rails.security.tool_security_rail import PermissionInterruptRail

from obstat_sdk.adapters.jiuwen import ObstatRail

from .cases import SUB, Driver, Turn, World

PACKAGE = "openjiuwen"

OWN = {
    "enabled": True,
    "schema": "tiered_policy",
    "permission_mode": "normal",
    "tools": {"safe": "allow", "pay": "ask", "wipe": "deny", "helper": "allow"},
    "defaults": {"*": "ask"},
}


class Script:
    """Does what the turn says, from the turn `at` on."""

    def __init__(self, world: World, turns: list[Turn], at: int = 0) -> None:
        self.world, self.turns, self.at = world, turns, at

    def message(self, kind: Any) -> Any:
        turn: Turn = self.turns[self.at] if self.at < len(self.turns) else "end"
        at, self.at = self.at, self.at + 1
        if isinstance(turn, str):
            return kind(content=turn)
        calls = [ToolCall(id=self.world.id(at, i), type="function", name=n, arguments=json.dumps(a), index=i) for i, (n, a) in enumerate(turn)]
        return kind(content="", tool_calls=calls)

    async def invoke(self, messages: Any = None, **_: Any) -> Any:
        self.world.saw(messages)
        return self.message(AssistantMessage)

    async def stream(self, **_: Any) -> Any:
        yield self.message(AssistantMessageChunk)


class Echo(Script):
    """Says in the end what it was told of its call."""

    async def invoke(self, messages: Any = None, **_: Any) -> Any:
        return AssistantMessage(content=str(messages[-1].content)) if self.at else self.message(AssistantMessage)


def model(w: World) -> Any:
    """The model of the page's example."""
    return Echo(w, SUB)


def tool(world: World, fn: Any) -> Any:
    """A tool of the framework, known to its Runner under a name of this run."""
    kinds = {"int": "integer", "str": "string"}
    args = inspect.signature(fn).parameters.values()
    schema = {"type": "object", "properties": {p.name: {"type": kinds[p.annotation], "description": p.name} for p in args}, "required": [p.name for p in args]}
    card = ToolCard(id=f"{fn.__name__}-{world.nonce}", name=fn.__name__, description=str(fn.__doc__), input_params=schema)
    out = LocalFunction(card=card, func=fn)
    Runner.resource_mgr.add_tool(out)
    return card


class Agent(Driver):
    """One agent; what is saved is the state of its session."""

    notes: ClassVar = {
        ("forged", True): "the resume is the approval: whoever can send one approves",
        ("replayed", True): "a state that is loaded twice runs the call twice",
        ("edited", True): "the saved call's arguments run, and the engine is not asked again",
        ("other-tool", True): "the saved call's name runs: a denied tool",
        ("crash", True): "every process that loads the state runs the call",
    }

    def __init__(self, world: World, turns: list[Turn], **more: Any) -> None:
        super().__init__(world, turns, **more)
        self.state: dict[str, Any] = {}
        self.at = 0
        self.extra: list[Any] = []

    async def agent(self, name: str, turns: list[Turn], at: int, cards: list[Any]) -> Any:
        out = ReActAgent(AgentCard(id=f"{name}-{self.world.nonce}", name=name, description=name))
        out.set_llm(Script(self.world, turns, at))
        for card in cards:
            out.ability_manager.add(card)
        rail = PermissionInterruptRail(config=OWN) if self.world.own else ObstatRail(self.world.guard())
        await out.register_rail(rail)
        return out

    def cards(self) -> list[Any]:
        w = self.world
        return [tool(w, w.safe), tool(w, w.pay), tool(w, w.wipe)]

    def go(self, query: Any) -> None:
        async def run() -> None:
            cards = self.cards() + self.extra
            if self.sub:

                async def helper(request: str) -> str:
                    """Asks another agent."""
                    inner = await self.agent("inner", SUB, 0, self.cards())
                    return str(await inner.invoke({"query": request, "conversation_id": "inner-" + self.world.nonce}))

                cards.append(tool(self.world, helper))
            outer = await self.agent("outer", self.turns, self.at, cards)
            session = create_agent_session(session_id=self.world.nonce, card=outer.card)
            session.update_state(copy.deepcopy(self.state))
            inputs = {"query": query, "conversation_id": self.world.nonce}
            if self.stream:
                async for _ in outer.stream(inputs, session=session):
                    pass
            else:
                await outer.invoke(inputs, session=session)
            self.state = copy.deepcopy(session.dump_state()["global_state"])
            self.at = outer._llm.at

        asyncio.run(run())

    def start(self) -> None:
        self.go("go on")

    def resume(self, edit: dict[str, Any] | None = None, tool: str | None = None) -> None:
        state = self.state.get(INTERRUPTION_KEY)
        if state is None:
            return
        given = InteractiveInput()
        for id, entry in state.interrupted_tools.items():
            if edit is not None:
                entry.tool_call.arguments, entry.tool_call.name = json.dumps(edit), tool or entry.tool_call.name
            given.update(id, {"approved": entry.tool_call.name in ("pay", tool), "auto_confirm": False})
        self.go(given)

    def save(self) -> Any:
        return copy.deepcopy(self.state), self.at

    def load(self, saved: Any) -> None:
        state, self.at = saved
        self.state = copy.deepcopy(state)

    def add(self) -> None:
        self.extra.append(tool(self.world, self.world.wipe2))
