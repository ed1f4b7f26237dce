"""Runs a module on the messages of standard input, one a line, as internal/face/inprocess/testdata/host.mjs does."""

from __future__ import annotations

import sys

import obstat_sdk.wasm as wasm

root = sys.argv[2]
if root == "blind":  # wasmtime's own: links to absolute paths cannot be read
    root, wasm._see_links = "/", lambda *_: None
module = wasm._Module(sys.argv[1], cache=True, root=None if root == "none" else root)
for line in sys.stdin.buffer:
    verb, _, rest = line.rstrip(b"\n").partition(b" ")
    if verb == b"load":
        reply = module.send("obstat_load", rest)
    else:
        number, _, rest = rest.partition(b" ")
        reply = module.send("obstat_decide", rest, int(number))
    sys.stdout.buffer.write(reply + b"\n")
