"""The engine in this process, as WebAssembly: no server, no approvals, no ledger.

    engine = Engine([{"name": "obstat.yaml", "text": "version: 1\\n"}])
    engine.decide(Call("Bash", {"command": "git status"})).allowed

What a policy asks about is denied. It needs the package `wasmtime`, which this one does not bring, and the module
compiled for this machine, once: `python3 -m obstat_sdk.wasm`.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.metadata
import json
import os
import platform
import stat
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ._types import Call, Decision, ObstatError, encode
from ._wire import API, Answer
from .client import _decision

__all__ = ["Engine", "NotCompiled", "PolicyError", "Trials", "compile_module"]


class NotCompiled(ObstatError):
    """The module has not been compiled for this machine, which takes a minute or two and is done once."""


class PolicyError(ObstatError):
    """A policy that cannot be used. `problems` is all that is wrong with it, each with its place."""

    def __init__(self, problems: list[dict[str, Any]]) -> None:
        super().__init__("\n".join(_line(p) for p in problems) or "the policy was refused")
        self.problems = problems


def _line(problem: dict[str, Any]) -> str:
    pos = problem.get("pos") or {}
    return ":".join([*(str(pos[k]) for k in ("file", "line", "col") if k in pos), f" {problem.get('msg')}"])


class Engine:
    """A policy that decides calls in this process. It may be used by several threads, which take turns.

    `files` are as `{"text": ..., "name": ..., "layer": ...}`, of which only the text has to be there, lowest
    precedence first; without `dialect` the first one's name and shape tell it. `module` is the file
    obstat.wasm, without it the one that comes with this package; `python3 -m obstat_sdk.wasm` has compiled it once
    for the user, and `cache=False` compiles it each time. Raises `PolicyError` and `NotCompiled`.
    """

    def __init__(
        self,
        files: Sequence[Mapping[str, str]],
        *,
        dialect: str = "",
        options: Mapping[str, str] | None = None,
        module: str | None = None,
        cache: bool = True,
    ) -> None:
        self._module = _Module(module or str(Path(__file__).with_name("obstat.wasm")), cache)
        self._lock, self._broken = threading.Lock(), ""
        policy = {"files": [dict(f) for f in files], "dialect": dialect, "options": dict(options or {})}
        got = json.loads(self._module.send("obstat_load", json.dumps(policy).encode()))
        if not got.get("policy"):
            raise PolicyError(got.get("errors") or [])
        self.dialect: str = got["dialect"]
        self.digest: str = got["digest"]
        """Equal digests decide equally."""
        self.warnings: list[dict[str, Any]] = got.get("warnings") or []

    def decide(self, call: Call) -> Decision:
        """Decides a call: allow or deny. Raises `BadCall`; every other fault denies."""
        put = call.put()
        with self._lock:
            if not self._broken:
                try:
                    reply = self._module.send("obstat_decide", b'{"call":' + put.body + b"}", 1)
                except Exception as e:  # what trapped cannot go on: its memory is in no known state
                    self._broken = f"the engine broke: {e}"
            if self._broken:
                return Decision("deny", self._broken, error="unreachable", digest=put.digest)
        d = _decision(Answer(200, API, reply, True), put)
        if d.effect == "ask":
            return Decision("deny", "the engine's answer cannot be read", error="unreadable", digest=put.digest)
        return d


class Trials:
    """Decides calls by policies that come with them, in this process: `decide_by` is as that of `Client`,
    and asks are asks. It may be used by several threads, which take turns. Raises `NotCompiled`."""

    def __init__(self, *, module: str | None = None, cache: bool = True) -> None:
        self._module = _Module(module or str(Path(__file__).with_name("obstat.wasm")), cache)
        self._lock, self._broken = threading.Lock(), ""

    def decide_by(self, policy: Mapping[str, Any], call: Call, said: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Decides a call. Raises `ObstatError`."""
        body = b'{"policy":' + encode(policy, "policy") + b',"call":' + call.put().body
        if said is not None:
            body += b',"said":' + encode(said, "said")
        with self._lock:
            if self._broken:
                raise ObstatError(self._broken)
            try:
                out = json.loads(self._module.send("obstat_try", body + b"}"))
            except Exception as e:  # what trapped cannot go on: its memory is in no known state
                self._broken = f"the engine broke: {e}"
                raise ObstatError(self._broken) from None
        if not isinstance(out, dict) or out.get("verdict") not in ("allow", "ask", "deny"):
            raise ObstatError("the engine's answer cannot be read as a decision")
        return out


class _Module:
    """The module's memory and functions."""

    def __init__(self, path: str, cache: bool, root: str | None = "/") -> None:
        import wasmtime

        engine = wasmtime.Engine()
        compiled = _kept(engine, path) if cache else wasmtime.Module.from_file(engine, path)
        wasi = wasmtime.WasiConfig()
        wasi.inherit_env()
        if root is not None:
            wasi.preopen_dir(root, "/", False)  # links and directories are looked at, as the binary does, and nothing is written
        self._store = wasmtime.Store(engine)
        self._store.set_wasi(wasi)
        linker = wasmtime.Linker(engine)
        linker.define_wasi()
        if root is not None:
            _see_links(linker, root)
        self._exports: Any = linker.instantiate(self._store, compiled).exports(self._store)
        self._exports["_initialize"](self._store)

    def send(self, name: str, message: bytes, *before: int) -> bytes:
        """Calls one of its functions with a message, and returns the reply."""
        x, store = self._exports, self._store
        at = x["obstat_buffer"](store, len(message)) & 0xFFFFFFFF
        if at == 0:
            raise ValueError(f"a message of {len(message):,} bytes is too large")
        x["memory"].write(store, message, at)
        n = x[name](store, *before, len(message))
        at = x["obstat_reply"](store) & 0xFFFFFFFF
        return bytes(x["memory"].read(store, at, at + n))


def compile_module(module: str | None = None) -> Path:
    """Compiles the module for this machine, keeps it for the user, and returns the file."""
    import wasmtime

    path = module or str(Path(__file__).with_name("obstat.wasm"))
    to = _place(path)
    to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = wasmtime.Module.from_file(wasmtime.Engine(), path).serialize()
    fd, name = tempfile.mkstemp(dir=to.parent)
    with os.fdopen(fd, "wb") as f:
        f.write(made)
    os.replace(name, to)
    return to


def _place(path: str) -> Path:
    """Where the compiled module is kept: under the name of its bytes and of the wasmtime that compiled it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:32]
    return cache / "obstat-sdk" / "wasm" / f"{name}-{importlib.metadata.version('wasmtime')}-{platform.machine()}.cwasm"


def _kept(engine: Any, path: str) -> Any:
    """Returns the compiled module. It is machine code, so that it counts only where none but the user can write it."""
    import wasmtime

    at = _place(path)
    again = "compile it with `python3 -m obstat_sdk.wasm`, which takes a minute or two and is done once"
    if not at.exists():
        raise NotCompiled(f"the engine has not been compiled for this machine: {again}, or ask a server")
    for file in (at, at.parent):
        st = file.stat()
        if st.st_uid != os.getuid() or st.st_mode & 0o022:
            raise NotCompiled(f"{file} can be written by others, so that it is not run: take it away, and {again}")
    try:
        return wasmtime.Module.deserialize_file(engine, str(at))
    except wasmtime.WasmtimeError as e:
        raise NotCompiled(f"the compiled engine cannot be used ({e}): {again}") from None


def _see_links(linker: Any, root: str) -> None:
    """Lets the module read links to absolute paths, and see what they lead to, as the binary does: wasmtime itself has
    neither. Of its descriptors the third is the root, and the only one that paths start from."""
    import wasmtime

    def path(caller: Any, fd: int, at: int, n: int) -> bytes:
        if fd != 3:
            raise OSError(errno.EBADF, "not the root")
        return os.path.join(os.fsencode(root), bytes(caller["memory"].read(caller, at, at + n)))

    def readlink(caller: Any, fd: int, at: int, n: int, to: int, room: int, used: int) -> int:
        try:
            target = os.readlink(path(caller, fd, at, n))[:room]
        except OSError as e:
            return _ERRNO.get(e.errno or 0, 29)
        caller["memory"].write(caller, target, to)
        caller["memory"].write(caller, struct.pack("<I", len(target)), used)
        return 0

    def look(caller: Any, fd: int, flags: int, at: int, n: int, to: int) -> int:
        try:
            st = os.stat(path(caller, fd, at, n), follow_symlinks=bool(flags & 1))
        except OSError as e:
            return _ERRNO.get(e.errno or 0, 29)
        kind = next((k for is_kind, k in ((stat.S_ISDIR, 3), (stat.S_ISREG, 4), (stat.S_ISLNK, 7)) if is_kind(st.st_mode)), 0)
        packed = struct.pack("<QQB7xQQQQQ", st.st_dev, st.st_ino, kind, st.st_nlink, st.st_size, st.st_atime_ns, st.st_mtime_ns, st.st_ctime_ns)
        caller["memory"].write(caller, packed, to)
        return 0

    linker.allow_shadowing = True
    for name, run, takes in (("path_readlink", readlink, 6), ("path_filestat_get", look, 5)):
        kind = wasmtime.FuncType([wasmtime.ValType.i32()] * takes, [wasmtime.ValType.i32()])
        linker.define_func("wasi_snapshot_preview1", name, kind, run, access_caller=True)


_ERRNO = {errno.EACCES: 2, errno.EBADF: 8, errno.EINVAL: 28, errno.ELOOP: 32, errno.ENAMETOOLONG: 37, errno.ENOENT: 44, errno.ENOTDIR: 54}
"""Errors as WASI numbers them; any other is EIO, 29."""


def main() -> None:
    """Compiles the module, of which the file may be named, and says where it is kept."""
    print("compiling the engine, which takes a minute or two ...", flush=True)
    began = time.monotonic()
    at = compile_module(*sys.argv[1:2])
    print(f"{at} ({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    main()
