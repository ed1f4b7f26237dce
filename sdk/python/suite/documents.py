"""Runs the examples of the systems' documents, as `docs/frameworks/NAME-document.md` has them, letter by
letter but for the import: `python -m suite.documents agentscope`."""

from __future__ import annotations

import importlib
import os
import re
import sys
from typing import Any

from .__main__ import PAGES
from .cases import World
from .server import Server


def blocks(name: str) -> list[tuple[str, bool]]:
    """Returns the examples of a page; those below "raises" raise in the original as well."""
    text = (PAGES / f"{name}-document.md").read_text()
    found = re.findall(r"(<!-- raises -->\n)?```python\n(.*?)```", text, re.DOTALL)
    return [(code, bool(raises)) for raises, code in found]


def main() -> None:
    """Runs a page's examples one after the other, with names that the document takes for granted."""
    name = sys.argv[1]
    module = importlib.import_module(f"suite.{name.replace('-', '_')}")
    server = Server(policy='{"permission": {"*": "deny"}}')
    os.environ["OBSTAT_SERVER"] = server.address
    names: dict[str, Any] = {"model": module.model(World(server, False)), **module.document()}
    ran = 0
    try:
        for code, raises in blocks(name):
            try:
                exec(compile(code, f"{name}-document.md", "exec"), names)  # noqa: S102
            except Exception as e:
                if not raises:
                    raise SystemExit(f"{name}-document.md: {type(e).__name__}: {e}\n{code}") from e
            else:
                if raises:
                    raise SystemExit(f"{name}-document.md: it runs now:\n{code}")
            ran += 1
        module.documented(names)
    finally:
        server.close()
    print(f"  {ran} examples of {name}'s document")


if __name__ == "__main__":
    main()
