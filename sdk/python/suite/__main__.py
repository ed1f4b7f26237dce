"""Runs the suite around one framework: `python -m suite langchain [case ...]`."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import io
import json
import logging
import os
import re
import sys
from pathlib import Path
from typing import Any

from . import never
from .cases import CASES, Result, World, masked, try_case
from .server import Server

PAGES = Path(__file__).resolve().parent.parent.parent.parent / "docs" / "frameworks"
RESULTS = Path(__file__).resolve().parent.parent.parent / "results"


def word(r: Result) -> str:
    """Returns one side of a row."""
    return "-" if r.held is None else "held" if r.held else "RAN " + " ".join(r.ran)


def example(module: Any, name: str, server: Server) -> str:
    """Runs the first example of the framework's page, with a model that calls wipe; returns what it prints."""
    text = (PAGES / f"{name}.md").read_text()
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found, f"{name}.md has no example"
    os.environ["OBSTAT_SERVER"] = server.address
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(found[1], f"{name}.md", "exec"), {"model": module.model(World(server, False))})  # noqa: S102
    return out.getvalue()


def main() -> None:
    """Runs the cases, and compares them with what is kept."""
    logging.disable(logging.ERROR)  # of the frameworks
    name, only = sys.argv[1], sys.argv[2:]
    family = name.partition("-2.")[0]
    module = importlib.import_module(f"suite.{family.replace('-', '_')}")
    version = importlib.metadata.version(module.PACKAGE)
    server = Server()
    rows, failed = [], []
    try:
        for case in only or CASES:
            mine, own = (try_case(case, server, module.Agent, own) for own in (False, True))
            print(f"  {case:<11} obstat: {word(mine):<6} its own: {word(own)}")
            if mine.held is False:
                failed.append(f"{case} does not hold: {mine.ran}")
            rows.append({"case": case, "obstat": mine.json(), "own": own.json()})
        if not only:
            masked(server, module.Agent)
            print("  masked")
        for check in getattr(module, "CHECKS", ()) if not only else ():
            check(World(server, False))
            print(f"  {check.__name__}")
        if not only:
            said = example(module, family, server)
            print(f"  example     {said.strip()[:60]}")
            if getattr(module, "PRINTS", "Denied: deny rule") not in said:
                failed.append(f"the example of {family}.md prints {said!r}")
    finally:
        server.close()
    if not only and hasattr(module, "MODES"):
        failed += never.check(module, version, bool(os.environ.get("UPDATE")))
    if not only:
        path = RESULTS / f"python-{name}.json"
        if os.environ.get("UPDATE"):
            text = {"framework": family, "language": "python", "version": version, "rows": rows}
            path.write_text(json.dumps(text, indent=1, ensure_ascii=False) + "\n")
        else:
            kept = json.loads(path.read_text())
            for was, now in zip(kept["rows"], rows, strict=True):
                for side in ("obstat", "own"):
                    if was[side]["held"] != now[side]["held"]:
                        failed.append(f"{was['case']}, {side}: {path.name} says {was[side]}, and it was {now[side]}")
            if kept["version"] != version:
                failed.append(f"{path.name} is of version {kept['version']}, and {version} is here")
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
