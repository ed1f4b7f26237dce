"""A real obstat server, and a person who answers."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

POLICY = json.dumps(
    {"permission": {"*": "deny", "safe": "allow", "pay": "ask", "wipe": "deny", "helper": "allow", "task": "allow", "suite_safe": "allow", "suite_pay": "ask"}}
)


def binary() -> str:
    """The obstat that is tested: OBSTAT_BIN, else the one on PATH."""
    found = os.environ.get("OBSTAT_BIN") or shutil.which("obstat")
    assert found, "OBSTAT_BIN names the obstat to test with"
    return found


def as_person(directory: str, *args: str) -> subprocess.CompletedProcess[bytes]:
    """Runs obstat as a machine without a terminal does: below a process that was started with OBSTAT_TRUST."""
    env = {**os.environ, "OBSTAT_TRUST": directory}
    done = subprocess.run(["/bin/sh", "-c", 'unset OBSTAT_TRUST; "$@"; exit $?', "sh", binary(), *args], env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return done


class UnixHTTP(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("obstat", timeout=30)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self._path)


class Server:
    """An obstat server on a socket of its own, and a person's token for it."""

    def __init__(self, policy: str = POLICY, name: str = "opencode.json", flags: tuple[str, ...] = ()) -> None:
        self.dir = Path(tempfile.mkdtemp(prefix="ob"))
        self.dir.chmod(0o700)
        self.path = str(self.dir / "s")
        self.address = "unix:" + self.path
        self._policy = self.dir / name
        self._policy.write_text(policy)
        self._flags = flags
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self.start()
            made = as_person(str(self.dir), "token", "create", "--json", "--person", "ann", "--store", str(self.dir / "obstat.db"))
        except BaseException:
            self.close()  # no server is left behind
            raise
        self.person: str = json.loads(made.stdout)["token"]["secret"]

    def start(self) -> None:
        env = {**os.environ, "HOME": str(self.dir), "XDG_STATE_HOME": str(self.dir / "state")}
        command = [binary(), "serve", "--addr=", "--socket", self.path, "--store", str(self.dir / "obstat.db"), "--policy", str(self._policy), *self._flags]
        with open(self.dir / "log", "ab") as log:
            self._process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                if self._send("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                time.sleep(0.02)
        raise AssertionError((self.dir / "log").read_text())

    def cpu(self) -> float:
        """Seconds of processor time that it has used."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def stopped(self) -> bool:
        return self._process is None

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.dir, ignore_errors=True)

    def _send(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        c = UnixHTTP(self.path)
        headers = {"Authorization": f"Bearer {self.person}"} if path.startswith("/v1/") else {}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body), "application/json"
        c.request(method, path, data, headers)
        r = c.getresponse()
        out = r.status, r.read()
        c.close()
        return out

    def person_does(self, method: str, path: str, body: object = None) -> Any:
        status, text = self._send(method, path, body)
        assert status < 300, f"{method} {path}: {status} {text!r}"
        return json.loads(text) if text else None

    def pending(self) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = self.person_does("GET", "/v1/requests?state=pending")["requests"]
        return out

    def answer(self, id: str, allow: bool = True, **more: object) -> None:
        self.person_does("POST", f"/v1/requests/{id}/answer", {"allow": allow, **more})

    def approve_all(self) -> list[str]:
        ids = [r["id"] for r in self.pending()]
        for id in ids:
            self.answer(id)
        return ids

    def request(self, id: str) -> dict[str, Any]:
        out: dict[str, Any] = self.person_does("GET", f"/v1/requests/{id}")
        return out

    def ledger(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._send("GET", "/v1/ledger")[1].splitlines()]


class Fake:
    """Answers every connection with the same bytes."""

    def __init__(self, dir: Path, answer: bytes | None) -> None:
        self.path = str(dir / "s")
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.bind(self.path)
        os.chmod(self.path, 0o600)
        self.sock.listen(16)
        self.answer, self.open = answer, list[socket.socket]()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                conn, _ = self.sock.accept()
            except OSError:
                return
            self.open.append(conn)
            if self.answer is None:
                continue  # and never says a word
            with contextlib.suppress(OSError):  # the test has seen enough
                conn.recv(1 << 20)
                conn.sendall(self.answer)
                conn.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.sock.close()
        for c in self.open:
            c.close()
