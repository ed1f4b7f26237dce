"""Servers that no decision comes from, for the checks of each drop-in."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .server import Fake

ALLOWED = b'{"verdict":"allow","reason":"r","words":{"behavior":"allow","message":"m"}}'


def _http(version: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nObstat-Api: " + version + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body


@contextlib.contextmanager
def servers() -> Iterator[dict[str, str]]:
    """Addresses: of nothing, of another version, of something that answers nonsense, and of something that never answers."""
    answers = {"another version": _http(b"2", ALLOWED), "no obstat": _http(b"1", b"[]"), "silent": None}
    with tempfile.TemporaryDirectory(prefix="ob") as top:
        out, fakes = {"gone": f"unix:{top}/gone"}, []
        for name, answer in answers.items():
            place = Path(top) / name.replace(" ", "")
            place.mkdir(0o700)
            fakes.append(Fake(place, answer))
            out[name] = "unix:" + fakes[-1].path
        try:
            yield out
        finally:
            for fake in fakes:
                fake.close()
