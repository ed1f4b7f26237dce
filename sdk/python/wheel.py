"""Builds the wheel: a PEP 517 backend of its own, so that building needs no network.

`python3 wheel.py VERSION DIR MODULE` writes DIR/obstat_sdk-VERSION-py3-none-any.whl, with the engine as
WebAssembly in it. Two builds of one version are the same, byte for byte.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLASSIFIERS = (
    "Development Status :: 4 - Beta",
    "Intended Audience :: Developers",
    "Operating System :: POSIX",
    *(f"Programming Language :: Python :: 3.{n}" for n in range(10, 14)),
    "Topic :: Security",
    "Typing :: Typed",
)


def python_version(version: str) -> str:
    """Returns a version of the binary as Python orders them: v1.2.3 is 1.2.3, and
    v1.2.3-0.20261116155230-0123456789ab is 1.2.3.dev20261116155230+0123456789ab."""
    version, _, more = version.removeprefix("v").partition("+")
    m = re.fullmatch(r"(\d+\.\d+\.\d+)(?:-(?:0\.)?(\d{14})-([0-9a-f]{12}))?", version)
    if m is None:
        raise SystemExit(f"{version!r} is no version as v1.2.3 or v0.0.0-20261116155230-0123456789ab")
    out = m[1] + (f".dev{m[2]}" if m[2] else "")
    local = ".".join(part for part in (m[3], more) if part)
    return out + ("+" + local if local else "")


def files(version: str | None) -> dict[str, bytes]:
    """Returns the package's files, and the version that they have."""
    out = {p.relative_to(HERE).as_posix(): p.read_bytes() for p in sorted((HERE / "obstat_sdk").rglob("*")) if p.suffix == ".py" or p.name == "py.typed"}
    if version is not None:
        out["obstat_sdk/_version.py"] = f'"""The version: that of the binary."""\n\n__version__ = "{version}"\n'.encode()
    return out


def own_version() -> str:
    """Returns the version that is written in the package."""
    m = re.search(r'__version__ = "(.+)"', (HERE / "obstat_sdk" / "_version.py").read_text())
    assert m
    return m[1]


def build(directory: str, version: str | None = None, links: dict[str, bytes] | None = None, module: str | None = None) -> str:
    """Writes the wheel, of `links` in place of the package where an editable one is wanted."""
    name = version or own_version()
    info = f"obstat_sdk-{name}.dist-info"
    meta = (
        f"Metadata-Version: 2.4\nName: obstat-sdk\nVersion: {name}\nSummary: Decides the tool calls of AI agents: allow, ask a person, or deny\n"
        "License-Expression: Apache-2.0\nLicense-File: LICENSE\nAuthor: the authors of obstat\n"
        "Keywords: agents,permissions,approval,audit,tool calls\nProject-URL: Source, https://github.com/obstat/obstat\n"
        + "".join(f"Classifier: {c}\n" for c in CLASSIFIERS)
        + "Requires-Python: >=3.10\nProvides-Extra: wasm\nRequires-Dist: wasmtime>=50; extra == 'wasm'\n"
        + "Description-Content-Type: text/markdown\n\n"
        + (HERE / "README.md").read_text()
    )
    content = dict(links if links is not None else files(version))
    if module is not None:
        content["obstat_sdk/obstat.wasm"] = Path(module).read_bytes()
    content[f"{info}/METADATA"] = meta.encode()
    content[f"{info}/licenses/LICENSE"] = (HERE.parent.parent / "LICENSE").read_bytes()
    content[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: obstat\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = [f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}" for path, data in content.items()]
    content[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    wheel = f"obstat_sdk-{name}-py3-none-any.whl"
    Path(directory).mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(Path(directory, wheel), "w", zipfile.ZIP_DEFLATED) as z:
        for path, data in content.items():
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, data)
    return wheel


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """PEP 517."""
    return build(wheel_directory)


def build_editable(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """PEP 660."""
    return build(wheel_directory, links={"obstat_sdk.pth": f"{HERE}\n".encode()})


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    print(build(sys.argv[2], python_version(sys.argv[1]), module=sys.argv[3]))
