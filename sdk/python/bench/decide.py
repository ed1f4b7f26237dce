"""Times a decision from Python beside echoes over Unix sockets, in one run.

    (cd bench && go build -o /tmp/echo ./echo) && OBSTAT_BIN=bin/obstat ECHO=/tmp/echo python3 sdk/python/bench/decide.py [N]

Round trips of the same client take turns, so that all meet the same machine; medians, and the processor
time of this process. "echo" is a bare net/http server that sends back the body, of the size of a
decision's; "durable" is the same server, which first appends the body to a file and waits for fdatasync:
what any answer costs that is written down before it is given, as a decision is. Last the processor time
that the server takes for a decision.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from obstat_sdk import AsyncClient, Call, Client
from obstat_sdk._wire import Answer, Ask
from suite.server import Server


def call(i: int) -> Call:
    """A call that is allowed by a rule."""
    return Call("safe", {"x": i}, dir="/")


BODY = b'{"call":' + call(1000).put().body + b',"unclaimed":true}'
"""What is sent for one."""


def ways(c: Any, e: Any) -> dict[str, Callable[[int], Any]]:
    """The round trips: with a client of the server, and one of the echo."""
    return {
        "echo": lambda i: e._exchange(Ask("POST", "/echo", BODY, 5)),
        "durable": lambda i: e._exchange(Ask("POST", "/durable", BODY, 5)),
        "decision": lambda i: c.authorize(call(i)),
        "try": lambda i: c.decide_by(POLICY, call(i)),
    }


POLICY = {"dialect": "opencode", "files": [{"name": "opencode.json", "text": '{"permission": {"*": "deny", "safe": "allow"}}'}]}
"""The policy of a call that is decided by one of its own, as the drop-ins do; nothing is written down."""


def in_process(n: int) -> None:
    """Times the engine in this process, where OBSTAT_WASM names the module and wasmtime is there."""
    from obstat_sdk.wasm import Trials

    began = time.perf_counter()
    trials = Trials(module=os.environ["OBSTAT_WASM"])
    trials.decide_by(POLICY, call(0))
    print(f"in process  {(time.perf_counter() - began) * 1e3:.0f} ms to start and decide once", end="")
    took = []
    for i in range(n):
        began = time.perf_counter()
        if trials.decide_by(POLICY, call(i))["verdict"] != "allow":
            raise SystemExit("the engine does not allow it")
        took.append(time.perf_counter() - began)
    print(f", then {statistics.median(took) * 1e6:.0f} µs (p99 {sorted(took)[n * 99 // 100] * 1e6:.0f})   load {os.getloadavg()[0]:.1f}")


def good(name: str, got: Any) -> None:
    """Fails where a round trip was not what it should be."""
    ok = got.allowed if name == "decision" else got["verdict"] == "allow" if name == "try" else isinstance(got, Answer) and got.status == 200
    if not ok:
        raise SystemExit(f"{name}: {got}")


def sync(c: Any, e: Any, n: int) -> dict[str, list[tuple[float, float]]]:
    """Times the client for threads."""
    out: dict[str, list[tuple[float, float]]] = {}
    for i in range(n):
        for name, way in ways(c, e).items():
            wall, cpu = time.perf_counter(), time.process_time()
            got = way(i)
            out.setdefault(name, []).append((time.perf_counter() - wall, time.process_time() - cpu))
            good(name, got)
    return out


async def asynchronous(c: Any, e: Any, n: int) -> dict[str, list[tuple[float, float]]]:
    """Times the client for asyncio."""
    out: dict[str, list[tuple[float, float]]] = {}
    for i in range(n):
        for name, way in ways(c, e).items():
            wall, cpu = time.perf_counter(), time.process_time()
            made: Awaitable[Any] = way(i)
            got = await made
            out.setdefault(name, []).append((time.perf_counter() - wall, time.process_time() - cpu))
            good(name, got)
    return out


def main() -> None:
    """Prints the medians and their ratios."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    if os.environ.get("OBSTAT_WASM"):
        in_process(n)
    echo = os.environ["ECHO"]
    server = Server()
    path = server.dir / "echo"
    process = subprocess.Popen([echo, str(path), str(server.dir / "echo.log")])
    try:
        while not path.exists() or path.stat().st_mode & 0o077:
            time.sleep(0.01)
        for name, kind in (("Client", Client), ("AsyncClient", AsyncClient)):
            c, e = kind(server.address), kind(f"unix:{path}")
            used = server.cpu()
            got = sync(c, e, n) if kind is Client else asyncio.run(asynchronous(c, e, n))
            wall = {k: statistics.median(t for t, _ in v) * 1e6 for k, v in got.items()}
            cpu = {k: statistics.median(t for _, t in v) * 1e6 for k, v in got.items()}
            print(f"{name:<12}" + "".join(f"{k} {wall[k]:5.0f} µs ({cpu[k]:3.0f} of its own)   " for k in wall), end="")
            ratios = f"{wall['decision'] / wall['echo']:.2f} times echo, {wall['decision'] / wall['durable']:.2f} times durable"
            late = {k: sorted(t for t, _ in got[k])[n * 99 // 100] * 1e6 for k in ("decision", "try")}
            ratios += f", p99 {late['decision']:.0f} and {late['try']:.0f} µs"
            print(f"{ratios}   server {(server.cpu() - used) / n * 1e6:.0f} µs   load {os.getloadavg()[0]:.1f}")
    finally:
        process.terminate()
        process.wait()
        server.close()


if __name__ == "__main__":
    main()
