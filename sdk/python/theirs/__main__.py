"""Runs a framework's own tests with obstat in its place: `python -m theirs agentscope DIR [file ...]`.

DIR has the tests as they were fetched. `theirs/NAME.txt` lists those that do not pass, each with
its reason; another one that fails, or one of these that passes, is an error.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = {
    "agentscope": "permission_engine_test.py permission_mode_test.py hitl_user_confirmation_test.py hitl_external_execution_test.py",
    "jiuwenswarm": " ".join(
        f"tests/unit_tests/harness/security/test_{name}.py" for name in ("external_directory_trusted_dirs", "patterns", "permission_merge_after_auto_confirm")
    ),
    "adk_fluent": "tests/manual/test_permissions_modules.py tests/test_hitl_approval.py tests/manual/test_tool_confirmation.py",
}


def main() -> None:
    """Compares what fails with what is known to."""
    name, directory, files = sys.argv[1].replace("-", "_"), sys.argv[2], sys.argv[3:]
    command = [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "--tb=no", "-rf", "-p", f"theirs.{name}", *(files or FILES[name].split())]
    out = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False).stdout
    failed = {line.split("::")[-1].split(" ")[0] for line in out.splitlines() if line.startswith("FAILED ")}
    known = dict(re.findall(r"^(\w+): (.+)$", (HERE / f"{name}.txt").read_text(), re.MULTILINE))
    print("  " + out.strip().splitlines()[-1])
    wrong = [f"{t} fails" for t in sorted(failed - known.keys())] + [f"{t} passes: take it out of the list" for t in sorted(known.keys() - failed)]
    if wrong or " passed" not in out or " error" in out.splitlines()[-1]:
        raise SystemExit("\n".join(wrong) or out)


if __name__ == "__main__":
    main()
