"""OpenAI Agents SDK: `needs_approval` and RunState on the other side."""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar

from agents import Agent as Plain
from agents import (
    FunctionTool,
    LocalShellTool,
    ModelBehaviorError,
    Runner,
    RunState,
    ShellTool,
    ToolGuardrailFunctionOutput,
    WebSearchTool,
    function_tool,
    set_tracing_disabled,
    tool_input_guardrail,
)
from agents.testing import ScriptedModel, assistant_message, function_call

from obstat_sdk import ConfigError
from obstat_sdk.adapters.openai_agents import ObstatAgent

from .cases import PAY, SUB, Driver, Turn, Use, World

PACKAGE = "openai-agents"
set_tracing_disabled(True)


def script(w: World, turns: list[Turn], at: int = 0) -> ScriptedModel:
    """The model, from a turn on: a run that is resumed has had its first."""
    steps: list[Any] = []
    for n, turn in enumerate(turns):
        if isinstance(turn, str):
            steps.append([assistant_message(turn)])
        else:
            steps.append([function_call(name, args, call_id=w.id(n, i)) for i, (name, args) in enumerate(turn)])
    return ScriptedModel([*steps[at:], [assistant_message("end")], [assistant_message("end")]])


def model(w: World) -> Any:
    """The model of the page's example."""
    return script(w, SUB)


class Agent(Driver):
    """One run; what is saved is the RunState as JSON."""

    notes: ClassVar = {
        ("forged", True): "the state is the approval: whoever can write it approves",
        ("replayed", True): "a state that is resumed twice runs the call twice",
        ("edited", True): "the approval in the state is for the call's id: other arguments run",
        ("other-tool", True): "the approval in the state is for the call's id and its tool",
        ("crash", True): "every process that resumes the state runs the call",
        ("added", True): "a tool without needs_approval runs",
        ("edited", False): "the saved state is changed: the framework has no edit",
        ("other-tool", False): "the saved state is changed: the framework has no edit",
    }

    def __init__(self, world: World, turns: list[Turn], **more: Any) -> None:
        super().__init__(world, turns, **more)
        self.state: Any = None
        self.agent = self.build(script(world, turns))

    def tools(self) -> list[Any]:
        w, own = self.world, self.world.own
        out: list[FunctionTool] = [function_tool(w.safe)]
        out += [function_tool(f, needs_approval=own) for f in (w.pay, w.wipe)]
        return out

    def make(self, name: str, model: ScriptedModel, tools: list[Any]) -> Any:
        if self.world.own:
            return Plain(name=name, model=model, tools=tools)
        return ObstatAgent(name=name, model=model, tools=tools, guard=self.world.guard())

    def build(self, model: ScriptedModel) -> Any:
        tools = self.tools()
        if self.sub:
            inner = self.make("inner", script(self.world, SUB), self.tools())
            tools.append(inner.as_tool(tool_name="helper", tool_description="Asks another agent."))
            self.inner = inner
        return self.make("outer", model, tools)

    def go(self, given: Any) -> None:
        async def run() -> Any:
            if not self.stream:
                return await Runner.run(self.agent, given)
            result = Runner.run_streamed(self.agent, given)
            async for _ in result.stream_events():
                pass
            return result

        try:
            self.result = asyncio.run(run())
        except ModelBehaviorError as e:
            self.state, self.world.refused = None, str(e).partition(".")[0]
            return
        self.world.saw([c.input for c in self.agent.model.calls])
        self.state = self.result.to_state() if self.result.interruptions else None

    def start(self) -> None:
        turns = self.turns
        if self.sub:
            turns = [[("helper", {"input": "go on"})], "end"]
            self.agent.model = script(self.world, turns)
        self.go("go on")

    def resume(self, edit: dict[str, Any] | None = None, tool: str | None = None) -> None:
        if self.state is None:
            return
        for item in self.state.get_interruptions():
            if item.name == "pay":
                self.state.approve(item)
            else:
                self.state.reject(item)
        if edit is not None:
            text = json.dumps(self.state.to_json()).replace(
                json.dumps(json.dumps({"to": "bob", "amount": 5}, separators=(",", ":"))), json.dumps(json.dumps(edit))
            )
            if tool:
                text = text.replace('"pay"', json.dumps(tool))
            self.load(text)
        self.go(self.state)

    def save(self) -> Any:
        return json.dumps(self.state.to_json())

    def load(self, saved: Any) -> None:
        self.agent = self.build(script(self.world, self.turns, 1))
        self.state = asyncio.run(RunState.from_json(self.agent, json.loads(saved)))

    def add(self) -> None:
        self.agent.tools.append(function_tool(self.world.wipe2))


MODES = [(mode, rule) for mode in ("run", "stream") for rule in ("none", "needs_approval", "needs_approval by a function", "a guardrail rejects")]


@tool_input_guardrail
def rejects(_: Any) -> Any:
    """Rejects every call."""
    return ToolGuardrailFunctionOutput.reject_content("no")


async def always(*_: Any) -> bool:
    """Wants approval for every call."""
    return True


def attempt(w: World, mode: str, rule: str, call: Use) -> str:
    """Makes one call of a tool with approvals of its own."""
    needs: Any = {"needs_approval": True, "needs_approval by a function": always}.get(rule, False)
    tool = function_tool(getattr(w, call[0]), needs_approval=needs)
    if rule == "a guardrail rejects":
        tool.tool_input_guardrails = [rejects]
    given: dict[str, Any] = {"name": "a", "model": script(w, [[call], "end"]), "tools": [tool]}
    agent: Any = Plain(**given) if w.own else ObstatAgent(**given, guard=w.guard())

    async def go() -> Any:
        if mode == "run":
            return await Runner.run(agent, "go on")
        result = Runner.run_streamed(agent, "go on")
        async for _ in result.stream_events():
            pass
        return result

    result = asyncio.run(go())
    return "ran" if w.ran else "asked" if result.interruptions else "refused"


def refused_tools(w: World) -> None:
    """Tools that cannot be decided are refused when the agent is made, and when they are added."""
    shell, local = ShellTool(executor=lambda _: "ran"), LocalShellTool(executor=lambda _: "ran")
    plain = Plain(name="plain", tools=[function_tool(w.wipe)])
    for bad in ({"tools": [shell]}, {"tools": [local]}, {"tools": [WebSearchTool()]}, {"tools": [local], "hosted": True}, {"handoffs": [plain]}):
        try:
            ObstatAgent(name="a", guard=w.guard(), **bad)  # type: ignore[arg-type]
        except ConfigError:
            continue
        raise AssertionError(f"{bad} is taken")
    ObstatAgent(name="a", guard=w.guard(), tools=[WebSearchTool()], hosted=True)
    agent = ObstatAgent(name="a", model=script(w, ["end"]), guard=w.guard(), tools=[])
    agent.tools.append(shell)
    try:
        asyncio.run(Runner.run(agent, "go on"))
    except ConfigError:
        return
    raise AssertionError("a shell that was added runs undecided")


def raised(w: World) -> None:
    """A tool that raised is not recorded as one that went well."""

    def pay(to: str, amount: int) -> str:
        raise RuntimeError("no money")

    agent = ObstatAgent(name="a", model=script(w, [[PAY], "end"]), guard=w.guard(), tools=[function_tool(pay)])
    result = asyncio.run(Runner.run(agent, "go on"))
    (id,) = [r["id"] for r in w.server.pending() if r["call"].get("session") == w.nonce]
    w.server.answer(id)
    state = result.to_state()
    for item in state.get_interruptions():
        state.approve(item)
    asyncio.run(Runner.run(agent, state))
    outcome = w.server.request(id)
    assert "no money" in json.dumps(outcome) and '"ok": true' not in json.dumps(outcome), outcome


def resumed_early(w: World) -> None:
    """A run that is resumed before the person has answered pauses again, from a saved state too, and runs once approved."""
    agent = ObstatAgent(name="a", model=script(w, [[PAY], "end"]), guard=w.guard(), tools=[function_tool(w.pay)])
    result = asyncio.run(Runner.run(agent, "go on"))
    for _ in range(2):
        state = asyncio.run(RunState.from_json(agent, json.loads(json.dumps(result.to_state().to_json()))))
        for item in state.get_interruptions():
            state.approve(item)
        result = asyncio.run(Runner.run(agent, state))
        assert [i.name for i in result.interruptions] == ["pay"] and not w.ran, (result.interruptions, w.ran)
    (id,) = [r["id"] for r in w.server.pending() if r["call"].get("session") == w.nonce]
    w.server.answer(id)
    state = result.to_state()
    for item in state.get_interruptions():
        state.approve(item)
    result = asyncio.run(Runner.run(agent, state))
    assert not result.interruptions and len(w.ran) == 1, (result.interruptions, w.ran)


CHECKS = [refused_tools, raised, resumed_early]
