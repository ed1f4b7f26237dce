"""Runs a module on the messages of standard input, one a line, as internal/inprocess/testdata/host.mjs does."""

from __future__ import annotations

import sys

from obstat.wasm import _Module

module = _Module(sys.argv[1], cache=True, root=None if sys.argv[2] == "none" else sys.argv[2])
for line in sys.stdin.buffer:
    verb, _, rest = line.rstrip(b"\n").partition(b" ")
    if verb == b"load":
        reply = module.send("obstat_load", rest)
    else:
        number, _, rest = rest.partition(b" ")
        reply = module.send("obstat_decide", rest, int(number))
    sys.stdout.buffer.write(reply + b"\n")
