"""Claude Agent SDK: the real CLI of its wheel, with a scripted model on loopback; `can_use_tool` on the other side."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    ToolPermissionContext,
    create_sdk_mcp_server,
    query,
    tool,
)

from obstat_sdk.adapters.claude_agent_sdk import ObstatHooks

from .cases import PAY, SUB, Driver, Turn, World

PACKAGE = "claude-agent-sdk"
PREFIX = "mcp__suite__"  # suite_pay and so on in the policy, which has opencode's names for tools of MCP
TASK = "the helper's task"
PARAMETERS: dict[str, dict[str, Any]] = {"safe": {"x": int}, "pay": {"to": str, "amount": int}, "wipe": {"path": str}, "wipe2": {"path": str}}


def use(id: str, name: str, args: dict[str, Any]) -> dict[str, Any]:
    """Returns a call as the model makes it; the helper is an agent of the CLI's own."""
    if name == "helper":
        return {
            "type": "tool_use",
            "id": "toolu_sub" + id,
            "name": "Agent",
            "input": {"description": "help", "prompt": TASK, "subagent_type": "general-purpose"},
        }
    return {"type": "tool_use", "id": "toolu_" + id, "name": name if name == "Bash" else PREFIX + name, "input": args}


class Model(BaseHTTPRequestHandler):
    """Speaks /v1/messages: as many turns are over as there are messages of its own."""

    world: Any
    turns: list[Turn]
    streams = True

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "count_tokens" in self.path:
            self._send("application/json", b'{"input_tokens": 1}')
            return
        self.world.saw(asked.get("messages"))
        at = sum(m["role"] == "assistant" for m in asked.get("messages", ()))
        if asked.get("stream") and not self.streams:
            self._send("application/json", b'{"type": "error", "error": {"type": "not_found_error", "message": "no stream"}}', 404)
            return
        turns = SUB if TASK in json.dumps(asked.get("messages", [""])[0]) else self.turns
        turn: Turn = turns[at] if at < len(turns) and asked.get("tools") else "end"
        if isinstance(turn, str):
            blocks: list[Any] = [{"type": "text", "text": turn}]
        else:
            blocks = [use(self.world.id(at, i), n, a) for i, (n, a) in enumerate(turn)]
        message = {"id": f"msg_{self.world.nonce}_{at}", "type": "message", "role": "assistant", "model": asked.get("model", "m"), "stop_sequence": None}
        reason, usage = ("end_turn" if isinstance(turn, str) else "tool_use"), {"input_tokens": 1, "output_tokens": 1}
        if not asked.get("stream"):
            self._send("application/json", json.dumps({**message, "content": blocks, "stop_reason": reason, "usage": usage}).encode())
            return
        events: list[Any] = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": usage}}]
        for i, b in enumerate(blocks):
            text = b["type"] == "text"
            events.append({"type": "content_block_start", "index": i, "content_block": {**b, "text": ""} if text else {**b, "input": {}}})
            delta = {"type": "text_delta", "text": b["text"]} if text else {"type": "input_json_delta", "partial_json": json.dumps(b["input"])}
            events += [{"type": "content_block_delta", "index": i, "delta": delta}, {"type": "content_block_stop", "index": i}]
        events += [{"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}, {"type": "message_stop"}]
        self._send("text/event-stream", "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode())

    def _send(self, kind: str, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve(world: World, turns: list[Turn], streams: bool = True) -> ThreadingHTTPServer:
    """Starts a model."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Model,), {"world": world, "turns": turns, "streams": streams}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def cli(home: str, model: ThreadingHTTPServer) -> dict[str, str]:
    """The CLI's environment: a model, a home of its own, and nothing else that it talks to."""
    off = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "IS_SANDBOX")
    to = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_port}", "ANTHROPIC_API_KEY": "none"}
    return {"HOME": home, "CLAUDE_CONFIG_DIR": home, **to, **dict.fromkeys(off, "1")}


class Agent(Driver):
    """One session of the CLI; the tools are those of an MCP server in this process. A turn of several
    calls is held while people are asked; else an ask ends the run, which is resumed."""

    notes: ClassVar = {
        ("forged", True): "an allow rule in a settings file keeps the callback from being asked",
        ("forged", False): "the approval is an allow rule in a settings file",
        ("replayed", True): "a session that is resumed twice runs the call twice",
        ("edited", True): "the saved session is changed, and the approval is for the call's id",
        ("edited", False): "the saved session is changed: the framework has no edit",
        ("other-tool", True): "the saved session is changed, and the approval is for the call's id",
        ("other-tool", False): "the saved session is changed: the framework has no edit",
        ("crash", True): "every process that resumes the session runs the call",
        ("added", True): "an allow rule for the whole server covers a tool that is added to it",
    }

    def __init__(self, world: World, turns: list[Turn], **more: Any) -> None:
        super().__init__(world, turns, **more)
        self.names = ["safe", "pay", "wipe"]
        self.rules: list[str] = []
        self.batch = len(turns[0]) > 1
        self.session = ""
        self.deferred: Any = None
        self.saved: dict[str, bytes] = {}  # what the CLI has kept of the session
        self.error: BaseException | None = None
        self.answered = threading.Event()
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        if not self.batch:
            asyncio.run(self.go(False))
            assert not self.sub or self.blocked or self.denied(), "the helper called nothing"
            return
        # Both ways hold the call while a person is asked: the run goes on beside.
        self.thread = threading.Thread(target=self.held)
        self.thread.start()
        until = time.monotonic() + 60
        while self.thread.is_alive() and not self.asking() and time.monotonic() < until:
            time.sleep(0.02)

    def denied(self) -> bool:
        """Tells whether obstat has denied the helper's call."""
        return any(r.get("session") == self.session and r.get("tool") == PREFIX + "wipe" for r in self.world.server.ledger())

    def held(self) -> None:
        try:
            asyncio.run(self.go(False))
        except BaseException as e:
            self.error = e

    def asking(self) -> bool:
        if self.world.own:
            return self.waiting
        return not self.world.server.stopped and any(r["call"].get("agent") == "suite" for r in self.world.server.pending())

    waiting = blocked = False
    streams = True

    async def go(self, approved: bool) -> None:
        """Runs the CLI until it ends; `approved` is what the application believes of the call it resumes."""
        w = self.world
        server = serve(w, self.turns, self.streams)
        with tempfile.TemporaryDirectory(prefix="ob", ignore_cleanup_errors=True) as home:
            for name, data in {**self.saved, "p/x": b"", "settings.json": json.dumps({"permissions": {"allow": self.rules}}).encode()}.items():
                Path(home, name).parent.mkdir(parents=True, exist_ok=True)
                Path(home, name).write_bytes(data)
            options = ClaudeAgentOptions(
                cwd=os.path.join(home, "p"),
                env=cli(home, server),
                max_turns=4,
                setting_sources=["user"],
                mcp_servers={"suite": create_sdk_mcp_server("suite", tools=self.tools())},
                include_partial_messages=self.stream,
                resume=self.session or None,
            )
            if w.own:
                options.can_use_tool = self.can_use_tool
                options.hooks = {"PreToolUse": [HookMatcher(hooks=[self.defer if not approved else self.allow])]} if not self.rules and not self.batch else None
            else:
                gate = ObstatHooks(w.guard(ask="wait" if self.batch else "pause", wait=60))
                options.hooks, options.can_use_tool = gate.hooks(), gate.can_use_tool  # type: ignore[assignment]

            ended = asyncio.Event()

            # The input stays open until the end: a deferred call is tried again once the tool's server is there, and asks then.
            async def prompt() -> Any:
                yield {"type": "user", "message": {"role": "user", "content": "go on"}}
                await ended.wait()

            async for m in query(prompt=prompt(), options=options):
                if isinstance(m, ResultMessage) and m.stop_reason != "tool_deferred_unavailable":
                    self.session, self.deferred = m.session_id, m.deferred_tool_use
                    ended.set()
            self.saved = {str(p.relative_to(home)): p.read_bytes() for p in Path(home, "projects").rglob("*.jsonl")}
        server.shutdown()

    def tools(self) -> list[Any]:
        def make(name: str) -> Any:
            @tool(name, f"Does {name}.", PARAMETERS[name])
            async def run(args: dict[str, Any]) -> dict[str, Any]:
                return {"content": [{"type": "text", "text": getattr(self.world, name)(**args)}]}

            return run

        return [make(n) for n in self.names]

    # The framework's own way: a hook defers what a person has to approve, and allows it, by the call's
    # id, in the run that is resumed; the callback waits.

    async def defer(self, given: Any, _: str | None, __: Any) -> Any:
        return own("defer") if given["tool_name"] == PREFIX + "pay" else {}

    async def allow(self, given: Any, id: str | None, __: Any) -> Any:
        return own("allow") if id == self.deferred.id else {}

    async def can_use_tool(self, name: str, _: dict[str, Any], __: Any) -> Any:
        if name == PREFIX + "pay":
            self.waiting = True
            while not self.answered.is_set():
                await asyncio.sleep(0.01)
        if name == PREFIX + "wipe":
            self.blocked = True
            return PermissionResultDeny(message="it is blocked")
        return PermissionResultAllow()

    def resume(self, edit: dict[str, Any] | None = None, tool: str | None = None) -> None:
        self.answered.set()
        if self.thread is not None:
            self.thread.join(120)
            if self.error is not None:
                raise self.error
            return
        assert self.deferred is not None, "nothing was asked"
        if not self.world.approved:  # the made-up approval is a rule in a settings file
            self.rules = ["mcp__suite"]
            self.session = "" if self.world.own else self.session
        if edit is not None:
            self.edit(tool or self.deferred.name.removeprefix(PREFIX), edit)
        asyncio.run(self.go(True))

    def edit(self, name: str, args: dict[str, Any]) -> None:
        """Puts another call in the place of the one that is asked about, wherever the session has it."""

        def change(v: Any) -> Any:
            if isinstance(v, list):
                return [change(x) for x in v]
            if not isinstance(v, dict):
                return v
            if v.get("type") == "tool_use":
                return {**v, "name": PREFIX + name, "input": args}
            if v.get("type") == "hook_deferred_tool":
                return {**v, "toolName": PREFIX + name, "toolInput": args}
            return {k: change(x) for k, x in v.items()}

        for path, data in self.saved.items():
            lines = [change(json.loads(line)) for line in data.splitlines()]
            self.saved[path] = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()

    def save(self) -> Any:
        return self.session, self.deferred, dict(self.saved)

    def load(self, saved: Any) -> None:
        self.session, self.deferred, self.saved = saved[0], saved[1], dict(saved[2])

    def add(self) -> None:
        self.names.append("wipe2")
        self.rules = ["mcp__suite"]


def own(decision: str) -> Any:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision}}


def model(w: World) -> Any:
    """Has the CLI of the page's example ask a model that calls a tool of the CLI's own."""
    server = serve(w, [[("Bash", {"command": "rm -rf build"})], "end"])
    home = tempfile.mkdtemp(prefix="home", dir=w.server.dir)
    os.environ.update(cli(home, server), HOME=home)


def passed_over(w: World) -> None:
    """A model that does not stream, so that several calls come in one message: there the CLI passes over
    a hook's "defer" and goes by its own rules, which allow everything here."""
    d = Agent(w, [[("safe", {"x": 1}), PAY], "end"])
    d.batch, d.streams, d.rules = False, False, ["mcp__suite"]
    d.start()
    assert d.deferred is None and w.ran == ["safe(1)"], (d.deferred, w.ran)


def sessions_directory(w: World) -> None:
    """A call is made in the session's own directory, in the hook and in what is asked beside it."""
    gate = ObstatHooks(w.guard())
    there = str(w.server.dir / "there")
    given = {"tool_name": "safe", "tool_input": {"x": 7}, "session_id": w.nonce, "cwd": there}

    async def go() -> None:
        await gate.before(given, "one", None)
        await gate.can_use_tool("safe", {"x": 8}, ToolPermissionContext(tool_use_id="one"))

    asyncio.run(go())
    made = [r for r in w.server.ledger() if w.nonce in json.dumps(r) and r.get("tool") == "safe"]
    assert len(made) == 2 and all(r.get("dir") == there for r in made), made


CHECKS = [passed_over, sessions_directory]
