"""LangChain: `create_agent`, HumanInTheLoopMiddleware on the other side."""

from __future__ import annotations

import asyncio
import copy
import threading
import time
from typing import Any, ClassVar

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from obstat_sdk.adapters.langchain import ObstatMiddleware

from .cases import PAY, SUB, Driver, Turn, Use, World

PACKAGE = "langchain"


class Script(BaseChatModel):
    """Does what the turn says: as many turns are over as there are answers of it."""

    world: Any
    turns: list[Any]

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
        self.world.saw(messages)
        at = sum(isinstance(m, AIMessage) for m in messages)
        turn: Turn = self.turns[at] if at < len(self.turns) else "end"
        if isinstance(turn, str):
            message = AIMessage(turn)
        else:
            message = AIMessage("", tool_calls=[{"name": n, "args": a, "id": self.world.id(at, i)} for i, (n, a) in enumerate(turn)])
        return ChatResult(generations=[ChatGeneration(message=message)])


def model(w: World) -> Any:
    """The model of the page's example."""
    return Script(world=w, turns=SUB)


class Dynamic(AgentMiddleware):
    """Adds tools while the agent runs, as the framework's documents do it."""

    def __init__(self) -> None:
        super().__init__()
        self.tools_now: dict[str, Any] = {}

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(tools=[*request.tools, *self.tools_now.values()]))

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        tool = self.tools_now.get(request.tool_call["name"])
        return handler(request.override(tool=tool) if tool else request)


class Agent(Driver):
    """One agent on one thread; what is saved are the thread's checkpoints."""

    notes: ClassVar = {
        ("forged", True): "the resume is the approval: whoever can resume the thread approves",
        ("replayed", True): "a checkpoint that is resumed twice runs the call twice",
        ("edited", True): "an edit runs without being looked at again",
        ("other-tool", True): "an edit may name another tool, whose own interrupt is not asked",
        ("crash", True): "every process that resumes the checkpoint runs the call",
        ("added", True): "a tool that interrupt_on does not name runs",
        ("subagent", True): "an agent that is a tool has a middleware list of its own",
    }

    def __init__(self, world: Any, turns: list[Turn], **more: Any) -> None:
        super().__init__(world, turns, **more)
        self.thread = world.nonce
        self.saver = InMemorySaver()
        self.dynamic = Dynamic()
        self.build()

    def build(self) -> None:
        w = self.world
        own = HumanInTheLoopMiddleware(interrupt_on={"pay": True, "wipe": True})
        middleware: list[Any] = [self.dynamic, own] if w.own else [self.dynamic, ObstatMiddleware(w.guard())]
        tools = [StructuredTool.from_function(f) for f in (w.safe, w.pay, w.wipe)]
        if self.sub:
            inner = create_agent(Script(world=w, turns=SUB), tools, middleware=[] if w.own else middleware)

            def helper(request: str) -> str:
                """Asks another agent."""
                return str(inner.invoke({"messages": [("user", request)]})["messages"][-1].content)

            tools.append(StructuredTool.from_function(helper))
        self.agent = create_agent(Script(world=w, turns=self.turns), tools, middleware=middleware, checkpointer=self.saver)

    @property
    def config(self) -> Any:
        return {"configurable": {"thread_id": self.thread}}

    def run(self, given: Any) -> None:
        if self.stream:
            for _ in self.agent.stream(given, self.config, stream_mode="updates"):
                pass
        else:
            self.agent.invoke(given, self.config)

    def start(self) -> None:
        self.run({"messages": [("user", "go on")]})

    def resume(self, edit: dict[str, Any] | None = None, tool: str | None = None) -> None:
        waiting = self.agent.get_state(self.config).interrupts
        if not waiting:
            return
        answers: dict[str, Any] = {}
        for one in waiting:
            asked = one.value.get("action_requests") or [{"name": one.value["obstat"]["tool"]}]
            decisions: list[Any] = []
            for a in asked:
                if a["name"] != "pay":
                    decisions.append({"type": "reject"})
                elif edit is not None:
                    decisions.append({"type": "edit", "edited_action": {"name": tool or "pay", "args": edit}})
                else:
                    decisions.append({"type": "approve"})
            answers[one.id] = {"decisions": decisions}
        if edit is not None and not self.world.own:
            self.tamper(edit, tool or "pay")
        self.run(Command(resume=answers))

    def tamper(self, edit: dict[str, Any], tool: str) -> None:
        """Changes the call in the thread's state, as an edit would."""
        state = self.agent.get_state(self.config)
        last = next(m for m in reversed(state.values["messages"]) if isinstance(m, AIMessage))
        changed = last.model_copy(update={"tool_calls": [{**last.tool_calls[0], "name": tool, "args": edit}]})
        self.agent.update_state(self.config, {"messages": [changed]}, as_node="model")

    def save(self) -> Any:
        return copy.deepcopy((dict(self.saver.storage), dict(self.saver.writes), dict(self.saver.blobs), self.thread))

    def load(self, saved: Any) -> None:
        storage, writes, blobs, self.thread = copy.deepcopy(saved)
        self.saver = InMemorySaver()
        self.saver.storage.update(storage)
        self.saver.writes.update(writes)
        self.saver.blobs.update(blobs)
        self.build()

    def add(self) -> None:
        self.dynamic.tools_now["wipe2"] = StructuredTool.from_function(self.world.wipe2)


MODES = [(mode, rule) for mode in ("invoke", "stream") for rule in ("none", "interrupt_on", "a middleware rejects")]


class Rejects(AgentMiddleware):
    """Refuses every call."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return ToolMessage("no", tool_call_id=request.tool_call["id"], status="error")


def attempt(w: World, mode: str, rule: str, call: Use) -> str:
    """Makes one call of an agent with a middleware of its own."""
    own: list[Any] = {"interrupt_on": [HumanInTheLoopMiddleware(interrupt_on={call[0]: True})], "a middleware rejects": [Rejects()]}.get(rule, [])
    middleware = own if w.own else [*own, ObstatMiddleware(w.guard())]
    agent = create_agent(
        Script(world=w, turns=[[call], "end"]), [StructuredTool.from_function(getattr(w, call[0]))], middleware=middleware, checkpointer=InMemorySaver()
    )
    config: Any = {"configurable": {"thread_id": w.nonce}}
    given: Any = {"messages": [("user", "go on")]}
    if mode == "invoke":
        agent.invoke(given, config)
    else:
        for _ in agent.stream(given, config, stream_mode="updates"):
            pass
    return "ran" if w.ran else "asked" if agent.get_state(config).interrupts else "refused"


class Mutates(AgentMiddleware):
    """Has the arguments of a call changed while a person is asked, as another thread may."""

    def __init__(self) -> None:
        super().__init__()
        self.held: Any = None

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        self.held = request.tool_call
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        self.held = request.tool_call
        return await handler(request)


def changed_while_asked(w: World) -> None:
    """A person approves one call; the caller's object says another by then, which does not run."""
    for how in ("invoke", "ainvoke"):
        one, holder = World(w.server, False), Mutates()
        tools = [StructuredTool.from_function(one.pay)]
        agent = create_agent(Script(world=one, turns=[[PAY], "end"]), tools, middleware=[holder, ObstatMiddleware(one.guard(ask="wait", wait=30))])
        given: Any = {"messages": [("user", "go on")]}
        run = (lambda a=agent, g=given: a.invoke(g)) if how == "invoke" else (lambda a=agent, g=given: asyncio.run(a.ainvoke(g)))
        thread = threading.Thread(target=run)
        thread.start()
        until, mine = time.monotonic() + 30, []
        while not mine and time.monotonic() < until:
            mine = [r["id"] for r in one.server.pending() if r["call"].get("session") == one.nonce]
            time.sleep(0.02)
        holder.held["args"].update(to="eve", amount=5000)
        one.server.answer(mine[0])
        thread.join(60)
        assert one.ran == ["pay(bob,5)"], (how, one.ran)


CHECKS = [changed_while_asked]
