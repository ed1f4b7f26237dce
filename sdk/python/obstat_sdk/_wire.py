"""HTTP/1.1 as far as the server speaks it: requests as bytes, answers from bytes."""

from __future__ import annotations

from typing import NamedTuple

MAX_HEAD = 64 << 10
MAX_BODY = 16 << 20
API = b"1"


class Unreadable(Exception):
    """What came is no answer."""


class Ask(NamedTuple):
    """A request, and how long the whole answer may take."""

    method: str
    path: str
    body: bytes | None
    timeout: float


class Answer(NamedTuple):
    """A response."""

    status: int
    api: bytes | None
    body: bytes
    keep: bool


class Fault(NamedTuple):
    """Why there is no response."""

    code: str
    reason: str


def head(method: str, path: str, host: str, token: str, length: int | None) -> bytes:
    """Returns the head of a request."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "User-Agent: obstat-python"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    if length is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {length}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Reader:
    """Puts an answer together from the pieces that arrive."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._body = -1  # where it begins
        self._length: int | None = None
        self._status = 0
        self._fields: dict[bytes, bytes] = {}

    @property
    def began(self) -> bool:
        """Tells whether anything has arrived."""
        return bool(self._data)

    def feed(self, piece: bytes) -> Answer | None:
        """Takes a piece; the answer once it is whole. Raises `Unreadable`."""
        self._data += piece
        if self._body < 0:
            end = self._data.find(b"\r\n\r\n")
            if end < 0:
                if len(self._data) > MAX_HEAD:
                    raise Unreadable("its head has no end")
                return None
            self._head(bytes(self._data[:end]))
            self._body = end + 4
        if self._length is None:
            return self._chunked()
        have = len(self._data) - self._body
        if have < self._length:
            return None
        if have > self._length:
            raise Unreadable("more came than its length says")
        return self._answer(bytes(self._data[self._body :]))

    def _head(self, text: bytes) -> None:
        first, _, rest = text.partition(b"\r\n")
        words = first.split(b" ", 2)
        if len(words) < 2 or words[0] != b"HTTP/1.1" or len(words[1]) != 3 or not words[1].isdigit():
            raise Unreadable("it is not HTTP/1.1")
        self._status = int(words[1])
        if self._status < 200:
            raise Unreadable(f"its status is {self._status}")
        for line in rest.split(b"\r\n") if rest else ():
            name, colon, value = line.partition(b":")
            name = name.lower()
            if not colon or (name in self._fields and name in (b"content-length", b"transfer-encoding", b"obstat-api")):
                raise Unreadable("its head is not HTTP")
            self._fields[name] = value.strip()
        if self._status == 204:
            self._length = 0
            return
        if b"transfer-encoding" in self._fields:
            if self._fields[b"transfer-encoding"].lower() != b"chunked" or b"content-length" in self._fields:
                raise Unreadable("its length is not clear")
            return
        length = self._fields.get(b"content-length", b"")
        if not length.isdigit() or len(length) > 10:
            raise Unreadable("its length is not clear")
        self._length = int(length)
        if self._length > MAX_BODY:
            raise Unreadable(f"it has {self._length:,} bytes")

    def _chunked(self) -> Answer | None:
        if len(self._data) > 2 * MAX_BODY:
            raise Unreadable("it is too large")
        out, at = bytearray(), self._body
        while True:
            end = self._data.find(b"\r\n", at)
            if end < 0:
                return None
            try:
                size = int(self._data[at:end].split(b";")[0], 16)
            except ValueError:
                raise Unreadable("its chunks are not HTTP") from None
            at = end + 2
            if size < 0 or len(out) + size > MAX_BODY:
                raise Unreadable("it is too large")
            if len(self._data) < at + size + 2:
                return None
            if self._data[at + size : at + size + 2] != b"\r\n":
                raise Unreadable("its chunks are not HTTP")
            out += self._data[at : at + size]
            at += size + 2
            if size == 0:
                if at != len(self._data):
                    raise Unreadable("more came than its length says")
                return self._answer(bytes(out))

    def _answer(self, body: bytes) -> Answer:
        keep = self._fields.get(b"connection", b"").lower() != b"close"
        return Answer(self._status, self._fields.get(b"obstat-api"), body, keep)
