"""Where the server is, whether its socket can be trusted, and how one is started."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import stat
import struct
import subprocess
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from ._types import ConfigError, SocketError

_HINT = "it is as unix:/run/user/1000/obstat/serve.sock, http://127.0.0.1:8470 or https://gate.example.com"


@dataclass(frozen=True)
class Place:
    """Where a server listens."""

    socket: str | None = None
    host: str = "obstat"
    port: int = 0
    tls: bool = False
    own: bool = False  # the place where a server is started if none runs

    @property
    def authority(self) -> str:
        """The Host of requests."""
        if self.socket is not None:
            return "obstat"
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.tls else 80) else f"{name}:{self.port}"

    def __str__(self) -> str:
        if self.socket is not None:
            return "unix:" + self.socket
        return f"{'https' if self.tls else 'http'}://{self.authority}"


def state() -> str:
    """Returns the directory that obstat keeps its state in."""
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        home = os.environ.get("HOME", "")
        if not os.path.isabs(home):
            raise ConfigError("neither XDG_STATE_HOME nor HOME says where obstat's state is kept")
        base = os.path.join(home, ".local", "state")
    return os.path.join(base, "obstat")


def place(server: str | None) -> Place:
    """Reads an address; None is OBSTAT_SERVER, or the socket in the state directory."""
    text = server if server is not None else os.environ.get("OBSTAT_SERVER", "")
    if not text:
        return Place(socket=os.path.join(state(), "run", "serve.sock"), own=True)
    if text.startswith("unix:"):
        path = text[len("unix:") :]
        if not os.path.isabs(path):
            raise ConfigError(f"the server's socket {path!r} is not an absolute path; {_HINT}")
        return Place(socket=path)
    try:
        url = urlsplit(text)
        host, port = url.hostname or "", url.port
    except ValueError as e:
        raise ConfigError(f"the server's address {text!r}: {e}; {_HINT}") from None
    if url.scheme not in ("http", "https") or not host or url.path not in ("", "/") or url.query or url.fragment or url.username is not None:
        raise ConfigError(f"the server's address {text!r} makes no sense; {_HINT}")
    tls = url.scheme == "https"
    if not tls and not _loopback(host):
        raise ConfigError(f"{text} would send the token and the calls in the clear to another machine: use https")
    return Place(host=host, port=port or (443 if tls else 80), tls=tls)


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check(path: str) -> None:
    """Raises `SocketError` where others than the user and root could answer on a socket."""
    if not hasattr(os, "geteuid"):
        raise SocketError("Unix sockets cannot be checked on this system; set OBSTAT_SERVER to an http address")
    info = os.lstat(path)  # a link is no socket
    if not stat.S_ISSOCK(info.st_mode):
        raise SocketError(f"{path} is not a socket")
    _mine(path, info)
    directory = os.path.dirname(path)
    _mine(directory, os.stat(directory))


def _mine(path: str, info: os.stat_result) -> None:
    if info.st_uid not in (os.geteuid(), 0):
        raise SocketError(f"{path} belongs to the user {info.st_uid}, who could allow everything")
    if info.st_mode & 0o022:
        raise SocketError(f"others may write {path} (mode {stat.S_IMODE(info.st_mode):04o}), and could allow everything; make it 0600, its directory 0700")


def check_peer(sock: socket.socket, path: str) -> None:
    """Raises `SocketError` where another user listens, as far as the system tells."""
    if not hasattr(socket, "SO_PEERCRED"):
        return
    _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    if uid not in (os.geteuid(), 0):
        raise SocketError(f"the user {uid} listens on {path}, and could allow everything")


def program() -> str | None:
    """Finds obstat on PATH: the first program of that name that answers `version --json` as ours
    does. Another project has a script `obstat` as well. Directories that depend on where the
    process stands do not count."""
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        exe = shutil.which("obstat", path=directory) if os.path.isabs(directory) else None
        if exe is not None and _ours(exe):
            return exe
    return None


def _ours(exe: str) -> bool:
    try:
        ran = subprocess.run([exe, "version", "--json"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10, cwd="/", check=True)
        said = json.loads(ran.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return False
    if not isinstance(said, dict) or said.get("v") != 1:
        return False
    version, go, platform = (said.get(k) for k in ("version", "go", "platform"))
    return isinstance(version, str) and isinstance(go, str) and go.startswith("go") and isinstance(platform, str) and "/" in platform


def start(path: str) -> tuple[subprocess.Popen[bytes], str]:
    """Starts a server on a socket; returns it and its log. Of several that are started at a
    time one gets the socket."""
    exe = program()
    if exe is None:
        raise OSError("no server runs, and obstat is not on PATH (no program there answers `obstat version --json` as ours)")
    directory = os.path.dirname(path)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    log = os.path.join(directory, "serve.log")
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        started = subprocess.Popen(
            [exe, "serve", "--addr=", "--socket", path],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd="/",
            start_new_session=True,
            close_fds=True,
        )
    finally:
        os.close(out)
    return started, log


def last_line(log: str) -> str:
    """Returns what a server said last."""
    with contextlib.suppress(OSError), open(log, encoding="utf-8", errors="replace") as f:
        lines = f.read()[-4096:].strip().splitlines()
        return lines[-1] if lines else ""
    return ""
