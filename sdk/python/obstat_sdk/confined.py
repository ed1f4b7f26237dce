"""Runs a subprocess confined to the policy in force, by `obstat run`.

    ran = confined(["pytest", "-q"], cwd="/src/app")
    print(ran.returncode, ran.stdout)

Secrets are not there, hosts are those that rules allow, and changes count once the policy has judged them.
Where the command cannot be held so, it does not run, and `NotConfined` says why.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from ._find import program
from ._types import ObstatError

__all__ = ["NotConfined", "confined"]

_NOT_STARTED = 125


class NotConfined(ObstatError):
    """The command was not started: a rule denies it, or it cannot be confined here."""


def confined(
    args: str | Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    agent: str = "",
    input: str | None = None,
    timeout: float | None = None,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command confined, and returns how it ended; a text is one for the shell. What it did not get is told on
    its standard error, in lines that begin with `obstat:`."""
    exe = program()
    if exe is None:
        raise NotConfined("obstat is not on PATH (no program there answers `obstat version --json` as ours)")
    words = ["-c", args] if isinstance(args, str) else ["--", *args]
    by = ["--agent", agent] if agent else []
    stdin = subprocess.DEVNULL if input is None else None
    ran = subprocess.run([exe, "run", *by, *words], cwd=cwd, env=env, input=input, stdin=stdin, capture_output=True, text=True, timeout=timeout, check=False)
    said = [line for line in ran.stderr.splitlines() if line.startswith(("obstat: denied: ", "obstat: the command was not started: "))]
    if ran.returncode == _NOT_STARTED and said:
        raise NotConfined(said[-1].removeprefix("obstat: "))
    return ran
