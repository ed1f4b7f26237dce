"""Google ADK: `require_confirmation` on the other side."""

from __future__ import annotations

import asyncio
import copy
import threading
import time
from typing import Any, ClassVar, cast

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from obstat_sdk.adapters.google_adk import ObstatPlugin

from .cases import PAY, SUB, Driver, Turn, Use, World

PACKAGE = "google-adk"
CONFIRM = "adk_request_confirmation"


class Script(BaseLlm):
    """Does what the turn says: as many turns are over as there are answers of it."""

    world: Any
    turns: list[Any]

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        self.world.saw(llm_request.contents)
        own = [c for c in llm_request.contents if c.role == "model" and not any(p.function_call and p.function_call.name == CONFIRM for p in c.parts)]
        at = len(own)
        turn: Turn = self.turns[at] if at < len(self.turns) else "end"
        if isinstance(turn, str):
            parts = [types.Part(text=turn)]
        else:
            parts = [types.Part(function_call=types.FunctionCall(id=self.world.id(at, i), name=n, args=a)) for i, (n, a) in enumerate(turn)]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def scripted(turns: list[Turn]) -> Any:
    """A model that does what the turns say, outside of the suite."""
    return Script(model="m", world=World(cast("Any", None), False, "unix:/none"), turns=turns)


def model(w: World) -> Any:
    """The model of the page's example."""
    return Script(model="m", world=w, turns=SUB)


class Agent(Driver):
    """One session; what is saved are its events."""

    notes: ClassVar = {
        ("forged", True): "the user's message is the approval: whoever can send one approves",
        ("replayed", True): "a session that is put back runs the call again",
        ("edited", True): "a changed session is believed: confirmation and history agree",
        ("other-tool", True): "a changed session is believed, where the other tool wants confirmation, too",
        ("crash", True): "every process that resumes the session runs the call",
        ("added", True): "a tool without require_confirmation runs",
        ("edited", False): "the saved session is changed: the framework has no edit",
        ("other-tool", False): "the saved session is changed: the framework has no edit",
    }

    def __init__(self, world: World, turns: list[Turn], **more: Any) -> None:
        super().__init__(world, turns, **more)
        self.events: list[Any] = []
        self.build()

    def tools(self) -> list[Any]:
        w, own = self.world, self.world.own
        return [FunctionTool(w.safe), FunctionTool(w.pay, require_confirmation=own), FunctionTool(w.wipe, require_confirmation=own)]

    def build(self) -> None:
        w = self.world
        tools = self.tools()
        if self.sub:
            inner = LlmAgent(name="helper", description="Asks another agent.", model=Script(model="m", world=w, turns=SUB), tools=self.tools())
            tools.append(AgentTool(inner))
        self.agent = LlmAgent(name="outer", model=Script(model="m", world=w, turns=self.turns), tools=tools)
        self.runner = InMemoryRunner(self.agent, app_name="suite", plugins=[] if w.own else [ObstatPlugin(w.guard())])

    def go(self, *parts: Any) -> None:
        async def run() -> None:
            service = self.runner.session_service
            session = await service.get_session(app_name="suite", user_id="u", session_id=self.world.nonce)
            if session is None:
                session = await service.create_session(app_name="suite", user_id="u", session_id=self.world.nonce)
                for event in self.events:
                    await service.append_event(session, event)
            config = RunConfig(streaming_mode=StreamingMode.SSE if self.stream else StreamingMode.NONE)
            message = types.Content(role="user", parts=list(parts))
            async for _ in self.runner.run_async(user_id="u", session_id=session.id, new_message=message, run_config=config):
                pass
            session = await service.get_session(app_name="suite", user_id="u", session_id=self.world.nonce)
            self.events = session.events

        try:
            asyncio.run(run())
        except ValueError as e:
            self.world.refused = str(e).partition(" for ")[0]

    def start(self) -> None:
        self.go(types.Part(text="go on"))

    def resume(self, edit: dict[str, Any] | None = None, tool: str | None = None) -> None:
        answered = {r.id for e in self.events for r in e.get_function_responses() if r.name == CONFIRM}
        asked = [c for e in self.events for c in e.get_function_calls() if c.name == CONFIRM and c.id not in answered]
        if edit is not None:
            self.tamper(edit, tool)
        parts = []
        for c in asked:
            yes = c.args["originalFunctionCall"]["name"] in ("pay", tool)
            parts.append(types.Part(function_response=types.FunctionResponse(id=c.id, name=CONFIRM, response={"confirmed": yes})))
        if parts:
            self.go(*parts)

    def tamper(self, edit: dict[str, Any], tool: str | None) -> None:
        events = copy.deepcopy(self.events)
        for e in events:
            for c in e.get_function_calls():
                if c.name == CONFIRM:
                    c.args["originalFunctionCall"].update(args=edit, name=tool or "pay")
                elif c.name == "pay":
                    c.args, c.name = edit, tool or "pay"
        self.events = events
        self.build()

    def save(self) -> Any:
        return copy.deepcopy(self.events)

    def load(self, saved: Any) -> None:
        self.events = copy.deepcopy(saved)
        self.build()

    def add(self) -> None:
        self.agent.tools.append(FunctionTool(self.world.wipe2))


def run_once(runner: Any, w: World) -> list[Any]:
    """Runs an agent in a new session; returns its events."""

    async def go() -> list[Any]:
        service = runner.session_service
        session = await service.create_session(app_name="suite", user_id="u", session_id=w.nonce)
        message = types.Content(role="user", parts=[types.Part(text="go on")])
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            pass
        return (await service.get_session(app_name="suite", user_id="u", session_id=w.nonce)).events

    return asyncio.run(go())


MODES = [("default", "none"), ("default", "require_confirmation"), ("default", "a callback refuses")]


def attempt(w: World, mode: str, rule: str, call: Use) -> str:
    """Makes one call of a tool with a confirmation or a callback of its own."""
    tool = FunctionTool(getattr(w, call[0]), require_confirmation=rule == "require_confirmation")
    refuses = {"before_tool_callback": lambda **_: {"error": "no"}} if rule == "a callback refuses" else {}
    agent = LlmAgent(name="outer", model=Script(model="m", world=w, turns=[[call], "end"]), tools=[tool], **refuses)
    events = run_once(InMemoryRunner(agent, app_name="suite", plugins=[] if w.own else [ObstatPlugin(w.guard())]), w)
    asked = [c for e in events for c in e.get_function_calls() if c.name == CONFIRM]
    return "ran" if w.ran else "asked" if asked else "refused"


def shared_tool(w: World) -> None:
    """A tool that two runners share, each with a plugin of its own, is decided by the plugin of the run."""
    log: list[str] = []

    def safe(x: int) -> str:
        log.append(f"safe({x})")
        return "done"

    def pay(to: str, amount: int) -> str:
        log.append(f"pay({to})")
        return "done"

    tools = [FunctionTool(safe), FunctionTool(pay)]
    for n in range(3):
        one = World(w.server, False)
        agent = LlmAgent(name="outer", model=Script(model="m", world=one, turns=[[("safe", {"x": n}), PAY], "end"]), tools=tools)
        runner = InMemoryRunner(agent, app_name="suite", plugins=[ObstatPlugin(one.guard(ask="wait", wait=30))])
        done: list[Any] = []
        thread = threading.Thread(target=lambda r=runner, o=one, d=done: d.append(run_once(r, o)))
        thread.start()
        until, mine = time.monotonic() + 30, []
        while not mine and time.monotonic() < until:
            mine = [r["id"] for r in w.server.pending() if r["call"].get("session") == one.nonce]
            time.sleep(0.02)
        assert len(mine) == 1, (n, w.server.pending())
        w.server.answer(mine[0])
        thread.join(60)
        assert log[-2:] == [f"safe({n})", "pay(bob)"], (n, log)


CHECKS = [shared_tool]
