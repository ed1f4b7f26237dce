"""Claude Agent SDK: the real CLI of its wheel, with a scripted model on loopback; `can_use_tool` on the other side."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from claude_agent_sdk import ClaudeAgentOptions, PermissionResultAllow, PermissionResultDeny, ResultMessage, create_sdk_mcp_server, query, tool

from obstat.adapters.claude_agent_sdk import ObstatHooks

from .cases import PAY, Driver, NotThere, Turn, World

PACKAGE = "claude-agent-sdk"
PREFIX = "mcp__suite__"  # suite_pay and so on in the policy, which has opencode's names for tools of MCP
PRINTS = "PreToolUse"  # the page's example
ONCE = "the callback answers at once, and nothing is resumed"
PARAMETERS: dict[str, dict[str, Any]] = {"safe": {"x": int}, "pay": {"to": str, "amount": int}, "wipe": {"path": str}, "wipe2": {"path": str}}


class Model(BaseHTTPRequestHandler):
    """Speaks /v1/messages: as many turns are over as there are results of tools."""

    world: Any
    turns: list[Turn]

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
        at = sum(m["role"] == "assistant" for m in asked.get("messages", ()))
        turn: Turn = self.turns[at] if at < len(self.turns) and asked.get("tools") else "end"
        if isinstance(turn, str):
            blocks: list[Any] = [{"type": "text", "text": turn}]
        else:
            blocks = [{"type": "tool_use", "id": "toolu_" + self.world.id(at, i), "name": PREFIX + n, "input": a} for i, (n, a) in enumerate(turn)]
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

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Agent(Driver):
    """One query; the tools are those of an MCP server in this process."""

    notes: ClassVar = {
        ("forged", True): "an allow rule in a settings file keeps the callback from being asked",
        ("forged", False): "the approval is an allow rule in a settings file",
        ("added", True): "an allow rule for the whole server covers a tool that is added to it",
    }

    def __init__(self, world: World, turns: list[Turn], **more: Any) -> None:
        super().__init__(world, turns, **more)
        if self.stream or self.sub:
            raise NotThere("its input is always a stream" if self.stream else "not tried")
        self.names = ["safe", "pay", "wipe"]
        # Nothing is resumed here: the approval that nobody gave is a rule in a settings file.
        self.forged = turns[0] == [PAY]

    def start(self) -> None:
        asyncio.run(self.go())

    async def go(self) -> None:
        w = self.world
        handler = type("Handler", (Model,), {"world": w, "turns": self.turns})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with tempfile.TemporaryDirectory(prefix="ob", ignore_cleanup_errors=True) as home:
            Path(home, "p", ".claude").mkdir(parents=True)
            if self.forged:
                Path(home, "settings.json").write_text(json.dumps({"permissions": {"allow": [PREFIX + "pay", "mcp__suite"]}}))
            env = {"HOME": home, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}", "ANTHROPIC_API_KEY": "none", "DISABLE_TELEMETRY": "1"}
            env.update(CLAUDE_CONFIG_DIR=home, DISABLE_AUTOUPDATER="1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", IS_SANDBOX="1")
            options = ClaudeAgentOptions(
                cwd=os.path.join(home, "p"),
                env=env,
                max_turns=4,
                setting_sources=["user"],
                mcp_servers={"suite": create_sdk_mcp_server("suite", tools=self.tools())},
            )
            if w.own:
                options.can_use_tool = self.can_use_tool
            else:
                gate = ObstatHooks(w.guard(ask="wait", wait=3))
                options.hooks, options.can_use_tool = gate.hooks(), gate.can_use_tool  # type: ignore[assignment]

            async def prompt() -> Any:
                yield {"type": "user", "message": {"role": "user", "content": "go on"}}

            async for m in query(prompt=prompt(), options=options):
                if isinstance(m, ResultMessage):
                    break
        server.shutdown()

    def tools(self) -> list[Any]:
        def make(name: str) -> Any:
            @tool(name, f"Does {name}.", PARAMETERS[name])
            async def run(args: dict[str, Any]) -> dict[str, Any]:
                return {"content": [{"type": "text", "text": getattr(self.world, name)(**args)}]}

            return run

        return [make(n) for n in self.names]

    async def can_use_tool(self, name: str, _: dict[str, Any], __: Any) -> Any:
        return PermissionResultAllow() if name == PREFIX + "safe" else PermissionResultDeny(message="nobody has answered")

    def resume(self, edit: dict[str, Any] | None = None, tool: str | None = None) -> None:
        if edit is not None or not self.forged:
            raise NotThere(ONCE)

    def save(self) -> Any:
        raise NotThere(ONCE)

    def load(self, saved: Any) -> None:
        raise NotThere(ONCE)

    def add(self) -> None:
        self.names.append("wipe2")
        self.forged = True


def model(w: World) -> Any:
    """The page's example has no model: the CLI asks one by itself."""
    return None
