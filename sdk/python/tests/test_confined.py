"""Subprocesses that `obstat run` holds to a policy."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from obstat_sdk import NotConfined, confined
from suite.server import binary

HERE = Path(__file__).resolve().parent.parent
POLICY = "version: 1\nconfine: code\nallow: [read workspace, write workspace]\ndeny: [read secrets, run curl]\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "obstat").symlink_to(binary())
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    home, here = tmp_path / "home", tmp_path / "home" / "p"
    here.mkdir(parents=True)
    (here / "obstat.yaml").write_text(POLICY)
    (here / ".env").write_text("S3CRET=1\n")
    (here / "tests.sh").write_text("echo tests; cat .env; echo out > made; exit 3\n")
    for name, value in {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "OBSTAT_TRUST": str(here)}.items():
        monkeypatch.setenv(name, value)
    return here


def able(project: Path) -> None:
    try:
        confined(["true"], cwd=project)
    except NotConfined as e:
        pytest.skip(f"this machine does not confine commands: {e.reason}")


def test_held(project: Path) -> None:
    able(project)
    ran = confined(["sh", "tests.sh"], cwd=project)
    assert ran.returncode == 3 and "S3CRET" not in ran.stdout + ran.stderr
    assert (project / "made").read_text() == "out\n"
    assert confined("cat", cwd=project, input="given").stdout == "given"


def test_denied(project: Path) -> None:
    with pytest.raises(NotConfined, match=r"denied: deny rule run curl|cannot run confined"):
        confined(["curl", "http://example.org"], cwd=project)


def test_no_program(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(NotConfined, match="not on PATH"):
        confined(["true"], cwd=project)


def test_readme(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(project)
    code = next(c for c in re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.DOTALL) if "NotConfined" in c)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102
    out = capsys.readouterr().out
    assert ("tests" in out or "not run:" in out) and "S3CRET" not in out
