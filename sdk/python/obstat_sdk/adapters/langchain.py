"""LangChain and LangGraph: a middleware around the function that runs a tool.

    agent = create_agent(model, tools, middleware=[ObstatMiddleware()], checkpointer=InMemorySaver())

An ask pauses the run with `interrupt()`, which needs a checkpointer; `Command(resume=...)` makes it
look again. What the resume says is no verdict, except that "reject" or False gives up.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.types import interrupt

from ..guard import Checked, Guard

__all__ = ["ObstatMiddleware"]


class ObstatMiddleware(AgentMiddleware):
    """Decides every tool call of an agent. List it last: the last is next to the tool, and sees
    the arguments as they will be used. Agents that are tools of others need one of their own."""

    def __init__(self, guard: Guard | None = None) -> None:
        super().__init__()
        self.guard = guard or Guard(agent="langchain")

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Runs the tool if that is allowed."""
        call, session = _own(request.tool_call), _thread(request)
        checked = self.guard.check(call["name"], call["args"], id=call.get("id"), session=session)
        while checked.asking:
            if _given_up(interrupt(checked.question(call["name"]))):
                return _message(call, "Denied: the application gave up.")
            checked = self.guard.check(call["name"], call["args"], id=call.get("id"), session=session)
        if not checked.allowed:
            return _message(call, checked.message)
        try:
            out = handler(_with(request, call, checked))
        except GraphBubbleUp:
            raise
        except BaseException as e:
            self.guard.done(checked, e)
            raise
        self.guard.done(checked, _failed(out))
        for message in _messages(out):
            message.content = self.guard.shown(checked, message.content, failed=message.status == "error")
        return out

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """`wrap_tool_call` for asyncio."""
        call, session = _own(request.tool_call), _thread(request)
        checked = await self.guard.acheck(call["name"], call["args"], id=call.get("id"), session=session)
        while checked.asking:
            if _given_up(interrupt(checked.question(call["name"]))):
                return _message(call, "Denied: the application gave up.")
            checked = await self.guard.acheck(call["name"], call["args"], id=call.get("id"), session=session)
        if not checked.allowed:
            return _message(call, checked.message)
        try:
            out = await handler(_with(request, call, checked))
        except GraphBubbleUp:
            raise
        except BaseException as e:
            await self.guard.adone(checked, e)
            raise
        await self.guard.adone(checked, _failed(out))
        for message in _messages(out):
            message.content = await self.guard.ashown(checked, message.content, failed=message.status == "error")
        return out


def _thread(request: Any) -> str:
    """Returns the thread, which is the same after a resume and in another process."""
    config = getattr(request.runtime, "config", None) or {}
    return str((config.get("configurable") or {}).get("thread_id") or "")


def _own(call: Any) -> dict[str, Any]:
    """Returns a copy of a call, whose name and arguments stay as they are while a person is asked."""
    return {**call, "args": copy.deepcopy(call["args"])}


def _with(request: Any, call: dict[str, Any], checked: Checked) -> Any:
    return request.override(tool_call={**call, "args": checked.args})


def _message(call: Any, text: str) -> ToolMessage:
    return ToolMessage(text, name=call["name"], tool_call_id=call.get("id") or "", status="error")


def _messages(out: Any) -> list[ToolMessage]:
    """Returns the messages for the model: the one that a tool's output became, or those of a `Command`."""
    update = getattr(out, "update", None)
    found = update.get("messages") if isinstance(update, dict) else [out]
    return [m for m in found or () if isinstance(m, ToolMessage)]


def _failed(out: Any) -> Exception | None:
    return RuntimeError(str(out.content)) if isinstance(out, ToolMessage) and out.status == "error" else None


def _given_up(answer: Any) -> bool:
    if isinstance(answer, dict):
        answer = answer.get("type")
    return answer is False or answer in ("reject", "deny", "no")
