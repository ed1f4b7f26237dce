#!/usr/bin/env python3.11
"""Writes tables.txt: what CPython 3.11's re knows of characters.

Run in this directory: python3.11 tables.py > ../../internal/re/tables.txt
"""
import _sre
import re
import sys
import unicodedata
from re._casefix import _EXTRA_CASES

ALL = range(0x110000)


def spans(test):
    out, start = [], None
    for c in list(ALL) + [None]:
        ok = c is not None and test(c)
        if ok and start is None:
            start = c
        if not ok and start is not None:
            out.append((start, c - 1 if c is not None else 0x10FFFF))
            start = None
    return out


def mapping(pairs):
    """Runs (lo, hi, stride, delta) of characters that move by the same delta."""
    runs = []
    for c, d in pairs:
        if runs:
            lo, hi, stride, delta = runs[-1]
            if delta == d and (hi == lo and c - hi in (1, 2) or c - hi == stride):
                runs[-1] = (lo, c, c - hi, delta)
                continue
        runs.append((c, c, 1, d))
    return runs


def emit(name, rows):
    print(name, *(f"{x:x}" for r in rows for x in r))


def main():
    assert sys.version_info[:2] == (3, 11), "the tables are CPython 3.11's"
    lower = {c: _sre.unicode_tolower(c) for c in ALL}
    classes = {k: re.compile(k) for k in (r"\w", r"\d", r"\s")}
    has = {k: lambda c, p=p: p.match(chr(c)) is not None for k, p in classes.items()}

    # What lets recase.go do without a table of the characters that have case,
    # and read the classes inside a set without regard to it.
    for c in ALL:
        if lower[c] != c:
            assert _sre.unicode_iscased(lower[c]), hex(c)
            assert all(h(c) == h(lower[c]) for h in has.values()), hex(c)

    print(f"# The tables of CPython 3.11, Unicode {unicodedata.unidata_version}, made by testdata/gen/tables.py: a name and hexadecimal numbers a line.")
    for name, letter in (("word", r"\w"), ("digit", r"\d"), ("space", r"\s")):
        emit(name, spans(has[letter]))
    # What IGNORECASE turns into what; the upper case of characters beyond the BMP; lower-case
    # characters that are one upper-case character.
    emit("lower", mapping((c, l - c) for c, l in lower.items() if l != c))
    emit("upper", mapping((c, ord(chr(c).upper()) - c) for c in range(0x10000, 0x110000) if chr(c).upper() != chr(c)))
    emit("extra", sorted((a, b) for a, bs in _EXTRA_CASES.items() for b in bs))


main()
