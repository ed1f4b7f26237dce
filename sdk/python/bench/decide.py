"""Times a decision from Python beside echoes over Unix sockets, in one run.

`python3 bench/decide.py [N]`. Three round trips of the same client take turns, so that all meet the
same machine; medians. "bare" is the server's own GET /healthz: no policy, no record. "durable" is a
process that appends each request to a file, waits for fdatasync and answers: what any answer costs
that is written down before it is given, as a decision is.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from obstat import AsyncClient, Call, Client
from obstat._wire import Ask
from suite.server import Server

BARE = Ask("GET", "/healthz", None, 5)


def keep(path: str, log: str, ready: Any) -> None:
    """Answers a connection at a time; each request is on the disk before its answer is sent."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    os.chmod(path, 0o600)
    listener.listen(4)
    ready.set()
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    body = b'{"verdict":"allow","reason":"echo"}'
    answer = b"HTTP/1.1 200 OK\r\nObstat-Api: 1\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    while True:
        conn, _ = listener.accept()
        while data := conn.recv(65536):
            os.write(file, data)
            os.fdatasync(file)
            conn.sendall(answer)


def call(i: int) -> Call:
    """A call that is allowed by a rule."""
    return Call("safe", {"x": i}, dir="/")


def sync(server: Server, durable: str, n: int) -> list[list[float]]:
    """Times the client for threads."""
    c, e = Client(server.address), Client(durable)
    times: list[list[float]] = [[], [], []]
    for i in range(n):
        at = [time.perf_counter()]
        c._exchange(BARE)
        at.append(time.perf_counter())
        assert e.authorize(call(i)).allowed
        at.append(time.perf_counter())
        assert c.authorize(call(i)).allowed
        at.append(time.perf_counter())
        for k in range(3):
            times[k].append(at[k + 1] - at[k])
    return times


async def asynchronous(server: Server, durable: str, n: int) -> list[list[float]]:
    """Times the client for asyncio."""
    c, e = AsyncClient(server.address), AsyncClient(durable)
    times: list[list[float]] = [[], [], []]
    for i in range(n):
        at = [time.perf_counter()]
        await c._exchange(BARE)
        at.append(time.perf_counter())
        assert (await e.authorize(call(i))).allowed
        at.append(time.perf_counter())
        assert (await c.authorize(call(i))).allowed
        at.append(time.perf_counter())
        for k in range(3):
            times[k].append(at[k + 1] - at[k])
    return times


def main() -> None:
    """Prints the medians and their ratios."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    server = Server()
    ready = multiprocessing.Event()
    path = server.dir / "echo"
    process = multiprocessing.Process(target=keep, args=(str(path), str(server.dir / "echo.log"), ready), daemon=True)
    process.start()
    ready.wait(10)
    try:
        for name in ("Client", "AsyncClient"):
            got = sync(server, f"unix:{path}", n) if name == "Client" else asyncio.run(asynchronous(server, f"unix:{path}", n))
            bare, durable, decide = (statistics.median(t) * 1e6 for t in got)
            print(f"{name:<12} bare {bare:5.0f} µs   durable {durable:5.0f} µs   decision {decide:5.0f} µs", end="   ")
            print(f"{decide / bare:.2f} times bare, {decide / durable:.2f} times durable   load {os.getloadavg()[0]:.1f}")
            process.join(0)
    finally:
        process.terminate()
        server.close()


if __name__ == "__main__":
    main()
