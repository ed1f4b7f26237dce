"""The examples of the README, and the wheel."""

from __future__ import annotations

import importlib.util
import re
import zipfile
from pathlib import Path

import pytest

import obstat_sdk as obstat
from suite.server import Server

HERE = Path(__file__).resolve().parent.parent


def test_readme(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    server = Server('{"permission": {"*": "allow"}}')
    monkeypatch.setenv("OBSTAT_SERVER", server.address)
    monkeypatch.setattr(obstat, "_client", None)
    try:
        code = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.DOTALL)[0]  # wasm_engine.py runs the other
        names: dict[str, object] = {}
        exec(compile(code, "README.md", "exec"), names)  # noqa: S102
        assert capsys.readouterr().out.startswith("allow allow rule") and names["output"] == "ran git status"
    finally:
        server.close()


def test_wheel(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("wheel", HERE / "wheel.py")
    assert spec and spec.loader
    wheel = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(wheel)
    version = wheel.python_version("v1.2.3-0.20261116155230-0123456789ab")
    assert version == "1.2.3.dev20261116155230+0123456789ab" and wheel.python_version("v1.2.3") == "1.2.3"
    with pytest.raises(SystemExit):
        wheel.python_version("latest")
    one, two = (tmp_path / d / wheel.build(str(tmp_path / d), version) for d in ("a", "b"))
    assert one.read_bytes() == two.read_bytes(), "two builds are the same"
    names = zipfile.ZipFile(one).namelist()
    (tmp_path / "m").write_bytes(b"module")
    engine = zipfile.ZipFile(tmp_path / wheel.build(str(tmp_path), version, module=str(tmp_path / "m"))).read("obstat_sdk/obstat.wasm")
    assert engine == b"module" and "obstat_sdk/obstat.wasm" not in names
    assert {"obstat_sdk/py.typed", "obstat_sdk/adapters/langchain.py", f"obstat_sdk-{version}.dist-info/RECORD"} <= set(names)
    meta = zipfile.ZipFile(one).read(f"obstat_sdk-{version}.dist-info/METADATA").decode()
    assert "License-File: LICENSE\n" in meta and "Project-URL: Source" in meta and "Classifier: Typing :: Typed" in meta
    assert b"Apache License" in zipfile.ZipFile(one).read(f"obstat_sdk-{version}.dist-info/licenses/LICENSE")
    assert not [n for n in names if n.startswith(("tests", "suite", "theirs"))]
    assert version.encode() in zipfile.ZipFile(one).read("obstat_sdk/_version.py")
