"""The engine in this process. Run with wasmtime, in `make test-sdk` alone; OBSTAT_WASM is the module."""

from __future__ import annotations

import json
import math
import os
import re
import threading
from pathlib import Path

import pytest

from obstat_sdk import BadCall, Call
from obstat_sdk.wasm import Engine, NotCompiled, PolicyError, Trials, _place, compile_module

MODULE = os.environ["OBSTAT_WASM"]
POLICY = '{"permission": {"*": "deny", "safe": "allow", "pay": "ask", "wipe": "deny"}}'


@pytest.fixture(scope="session", autouse=True)
def compiled() -> Path:
    at = _place(MODULE)
    return at if at.exists() else compile_module(MODULE)


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine([{"text": POLICY}], dialect="opencode", module=MODULE)


def test_decides(engine: Engine) -> None:
    assert engine.dialect == "opencode" and engine.digest and engine.warnings == []
    assert engine.decide(Call("safe", {"x": 1})).allowed
    denied = engine.decide(Call("wipe", {"path": "/"}))
    assert denied.effect == "deny" and denied.rule is not None and denied.rule.text == '"wipe": "deny"'
    asks = engine.decide(Call("pay", {"to": "bob"}))
    assert asks.effect == "deny" and "nobody can be asked" in asks.reason
    assert engine.decide(Call("safe", {"text": "x" * 1_000_000})).allowed
    with pytest.raises(BadCall):
        engine.decide(Call("safe", {"x": math.nan}))


def test_threads_take_turns(engine: Engine) -> None:
    got: list[bool] = []
    threads = [threading.Thread(target=lambda n=n: got.extend(engine.decide(Call("safe", {"n": [n, i]})).allowed for i in range(20))) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got == [True] * 80


def test_what_broke_denies() -> None:
    engine = Engine([{"text": POLICY}], dialect="opencode", module=MODULE)

    def trap(*_: object) -> bytes:
        raise RuntimeError("unreachable executed")

    engine._module.send = trap  # type: ignore[method-assign]
    for _ in range(2):
        d = engine.decide(Call("safe", {"x": 1}))
        assert d.effect == "deny" and d.error == "unreachable" and "unreachable executed" in d.reason


def test_bad_policies(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r":1:\d+: ") as e:
        Engine([{"text": '{"permission": {"a": "maybe", "b": 1}}'}], dialect="opencode", module=MODULE)
    assert len(e.value.problems) == 2 and e.value.decision.effect == "deny"
    with pytest.raises(PolicyError, match="at least one file"):
        Engine([], module=MODULE)
    (tmp_path / "no.wasm").write_bytes(b"no module")
    with pytest.raises(Exception, match="no module"):
        Engine([{"text": POLICY}], module=str(tmp_path / "no.wasm"), cache=False)


def test_trials() -> None:
    trials = Trials(module=MODULE)
    policy = {"dialect": "opencode", "files": [{"name": "opencode.json", "text": POLICY}]}
    assert [trials.decide_by(policy, Call(t, {}))["verdict"] for t in ("safe", "pay", "wipe", "other")] == ["allow", "ask", "deny", "deny"]
    context = {"mode": "default", "deny_rules": {"Bash": [{"tool_name": "Bash", "rule_content": "rm:*", "behavior": "deny", "source": "s"}]}}
    got = trials.decide_by({"dialect": "agentscope", "files": [{"name": "context.json", "text": json.dumps(context)}]}, Call("Bash", {"command": "rm x"}))
    assert got["verdict"] == "deny"
    assert trials.decide_by({"dialect": "none", "files": [{"text": "{}"}]}, Call("safe", {}))["verdict"] == "deny"


def test_not_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for make in (lambda: Trials(module=MODULE), lambda: Engine([{"text": POLICY}], module=MODULE)):
        with pytest.raises(NotCompiled, match=r"python3 -m obstat_sdk\.wasm"):
            make()
    there = tmp_path / "obstat-sdk" / "wasm" / compiled.name
    there.parent.mkdir(parents=True, mode=0o700)
    there.write_bytes(b"no machine code")
    there.chmod(0o600)
    with pytest.raises(NotCompiled, match="cannot be used"):
        Trials(module=MODULE)
    there.write_bytes(compiled.read_bytes())
    there.chmod(0o666)
    with pytest.raises(NotCompiled, match="can be written by others"):
        Trials(module=MODULE)


def test_readme(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obstat_sdk.wasm.__file__", str(Path(MODULE).with_name("wasm.py")))
    text = (Path(__file__).resolve().parent.parent / "README.md").read_text()
    (code,) = [c for c in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "obstat_sdk.wasm" in c]
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out == "allow\n"
