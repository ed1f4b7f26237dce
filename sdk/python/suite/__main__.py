"""Runs the suite around one framework: `python -m suite langchain [case ...]`."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import logging
import os
import sys
from pathlib import Path

from .cases import CASES, Result, try_case
from .server import Server

RESULTS = Path(__file__).resolve().parent.parent.parent / "results"


def word(r: Result) -> str:
    """Returns one side of a row."""
    return "-" if r.held is None else "held" if r.held else "RAN " + " ".join(r.ran)


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
    finally:
        server.close()
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
