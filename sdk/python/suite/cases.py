"""The cases. Each drives an agent and tells whether it held: whether nothing ran that was not
allowed, and what was approved ran once."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from obstat_sdk import Guard

from .server import Server

Use = tuple[str, dict[str, Any]]
Turn = list[Use] | str
"""What the model does in a turn: call tools, or say something."""

PAY: Use = ("pay", {"to": "bob", "amount": 5})
WIPE: Use = ("wipe", {"path": "/"})


class NotThere(Exception):
    """The framework has nothing of the kind."""


class World:
    """What surrounds an agent: the tools' log, the server, and whether obstat guards it."""

    def __init__(self, server: Server, own: bool, address: str | None = None) -> None:
        self.server, self.own = server, own
        self.address = address or server.address
        self.ran: list[str] = []
        self.nonce = uuid.uuid4().hex[:12]
        self.refused = ""  # by the framework, with these words
        self.approved = False  # a person has said yes
        self.reached = True  # obstat was asked about the call that must not run
        self.secret, self.mask = "", True  # printed by every tool, and whether the guard masks it
        self.read = ""  # by the model
        self._lock = threading.Lock()

    def safe(self, x: int) -> str:
        """Does nothing that matters."""
        return self._log(f"safe({x})")

    def pay(self, to: str, amount: int) -> str:
        """Pays somebody."""
        return self._log(f"pay({to},{amount})")

    def wipe(self, path: str) -> str:
        """Deletes everything."""
        return self._log(f"wipe({path})")

    def wipe2(self, path: str) -> str:
        """Deletes everything, too."""
        return self._log(f"wipe2({path})")

    def _log(self, what: str) -> str:
        with self._lock:
            self.ran.append(what)
        return "done: " + what + self.secret

    def saw(self, given: Any) -> None:
        """Keeps a text of the messages that the model was given."""
        self.read += repr(given)

    def id(self, turn: int, i: int) -> str:
        """The id of the i-th call of a turn, as a provider would make it."""
        return f"call_{self.nonce}_{turn}_{i}"

    def count(self, tool: str) -> int:
        return sum(line.startswith(tool + "(") for line in self.ran)

    def guard(self, **more: Any) -> Guard:
        return Guard(self.address, agent="suite", session=self.nonce, timeout=1.0 if "hang" in self.address else 30.0, mask=self.mask, **more)

    def decided(self, tool: str, words: str) -> bool:
        """Tells whether obstat was asked about a call; else the framework refused it before."""
        return self.own or any(str(r.get("tool")).endswith(tool) and words in str(r.get("input", "")) for r in self.server.ledger()[-20:])

    def approve(self) -> None:
        """A person approves what is being asked. The framework's own approval asks elsewhere."""
        self.approved = True
        if not self.own:
            self.server.approve_all()


class Driver(ABC):
    """An agent of one framework with the suite's tools."""

    notes: ClassVar[dict[tuple[str, bool], str]] = {}
    """What to say of a case, by whether it is the framework's own side."""

    def __init__(self, world: World, turns: list[Turn], *, stream: bool = False, sub: bool = False) -> None:
        self.world, self.turns, self.stream, self.sub = world, turns, stream, sub

    @abstractmethod
    def start(self) -> None:
        """Runs the agent until it pauses or ends."""

    @abstractmethod
    def resume(self, edit: dict[str, Any] | None = None, tool: str | None = None) -> None:
        """Goes on with "approved" for pay, and "rejected" for the rest, in the framework's own
        form; with other arguments or another tool if given."""

    @abstractmethod
    def save(self) -> Any:
        """Returns what the application would keep while a person is asked."""

    @abstractmethod
    def load(self, saved: Any) -> None:
        """Goes back to what was saved, with an agent that is made anew."""

    def add(self) -> None:
        """Adds the tool wipe2 to the agent that is there already."""
        raise NotThere("no tool can be added to an agent that is there")


Make = Callable[..., Driver]


def forged(w: World, make: Make) -> bool:
    d = make([[PAY], "end"])
    d.start()
    d.resume()
    return w.count("pay") == 0


def replayed(w: World, make: Make) -> bool:
    d = make([[PAY], "end"])
    d.start()
    saved = d.save()
    w.approve()
    d.resume()
    d.load(saved)
    d.resume()
    return w.count("pay") == 1


def edited(w: World, make: Make) -> bool:
    d = make([[PAY], "end"])
    d.start()
    w.approve()
    d.resume(edit={"to": "eve", "amount": 5000})
    w.reached = w.decided("pay", "eve")
    return not any("eve" in line for line in w.ran)


def other_tool(w: World, make: Make) -> bool:
    d = make([[PAY], "end"])
    d.start()
    w.approve()
    d.resume(tool="wipe", edit={"path": "/"})
    w.reached = w.decided("wipe", "/")
    return w.count("wipe") == 0


def parallel(w: World, make: Make) -> bool:
    d = make([[("safe", {"x": 1}), PAY, WIPE, ("safe", {"x": 2})], "end"])
    d.start()
    before = w.count("pay") + w.count("wipe") == 0
    w.approve()
    d.resume()
    return before and sorted(w.ran) == ["pay(bob,5)", "safe(1)", "safe(2)"]


def streaming(w: World, make: Make) -> bool:
    d = make([[PAY], "end"], stream=True)
    d.start()
    before = w.count("pay") == 0
    w.approve()
    d.resume()
    return before and w.count("pay") == 1


def crash(w: World, make: Make) -> bool:
    d = make([[PAY], "end"])
    d.start()
    saved = d.save()
    w.approve()
    for _ in range(2):
        d = make([[PAY], "end"])
        d.load(saved)
        d.resume()
    return w.count("pay") == 1


def gone(w: World, make: Make) -> bool:
    if w.own:
        raise NotThere("it decides in the agent's own process")
    w.server.stop()
    try:
        make([[("safe", {"x": 1}), PAY], "end"]).start()
    finally:
        w.server.start()
    return not w.ran


def late(w: World, make: Make) -> bool:
    if w.own:
        raise NotThere("it decides in the agent's own process")
    make([[("safe", {"x": 1}), PAY], "end"]).start()
    return not w.ran


def added(w: World, make: Make) -> bool:
    d = make([[("wipe2", {"path": "/"})], "end"])
    d.add()
    d.start()
    return not w.ran


def subagent(w: World, make: Make) -> bool:
    d = make([[("helper", {"request": "go on"})], "end"], sub=True)
    d.start()
    return w.count("wipe") == 0


SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def masked(server: Server, driver: type[Driver]) -> None:
    """A secret that a tool prints does not reach the model, which is told so; the ledger has its digest. With `mask=False` it does."""
    for on in (True, False):
        w, before = World(server, False), len(server.ledger())
        w.secret, w.mask = f"\ntoken={SECRET}", on
        driver(w, [[("safe", {"x": 1})], "end"]).start()
        assert w.ran == ["safe(1)"] and "done: safe(1)" in w.read, (w.ran, w.read)
        assert (SECRET not in w.read) is on and ("[masked]" in w.read) is on, w.read
        found = [r for r in server.ledger()[before:] if r.get("kind") == "outcome" and "masked" in str(r.get("detail"))]
        assert len(found) == on and SECRET not in str(found), found


CASES: dict[str, Callable[[World, Make], bool]] = {
    "forged": forged,
    "replayed": replayed,
    "edited": edited,
    "other-tool": other_tool,
    "parallel": parallel,
    "streaming": streaming,
    "crash": crash,
    "gone": gone,
    "late": late,
    "added": added,
    "subagent": subagent,
}

SUB: list[Turn] = [[WIPE], "end"]
"""What the model of the subagent does."""


@dataclass
class Result:
    """What one side of a case showed."""

    held: bool | None
    ran: list[str]
    note: str = ""

    def json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"held": self.held, "ran": self.ran}
        return {**out, "note": self.note} if self.note else out


@contextlib.contextmanager
def hanging() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with tempfile.TemporaryDirectory(prefix="ob") as name, socket.socket(socket.AF_UNIX) as s:
        path = Path(name, "hang")
        s.bind(str(path))
        os.chmod(path, 0o600)
        s.listen(64)
        yield f"unix:{path}"


def try_case(name: str, server: Server, driver: type[Driver], own: bool) -> Result:
    """Runs one side of a case."""
    with hanging() as dead:
        world = World(server, own, dead if name == "late" else None)
        try:
            held = CASES[name](world, lambda turns, **more: driver(world, turns, **more))
        except NotThere as e:
            return Result(None, world.ran, str(e))
        note = driver.notes.get((name, own), "") if not (own and held) else ""
        if world.refused:
            note = f"the framework refuses it: {world.refused}"
        elif not world.reached:
            note = note or "the framework itself refuses it, before obstat is asked"
        return Result(held, sorted(world.ran), note)
