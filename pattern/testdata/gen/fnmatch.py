#!/usr/bin/env python3.11
"""Writes ../fnmatch.jsonl.gz: [pattern, [[text, fnmatch.fnmatchcase?], ...]] a line.

Run in this directory: python3.11 fnmatch.py
"""
import fnmatch
import gzip
import io
import json
import random
import sys
import warnings

warnings.simplefilter("ignore")
rnd = random.Random(7)
HAND = ["", "*", "?", "**", "*?", "?*", "??", "a*", "*a", "*a*", "a*b*c", "a?c", "[", "[a", "a[", "[]", "[!]", "[]]", "[]a]", "[!]a]", "[!]]", "[a]", "[ab]", "[a-c]",
        "[c-a]", "[c-ax]", "[!c-a]", "[a-c-e]", "[--0]", "[-a]", "[a-]", "[!-a]", "[!a-]", "[^a]", "[!^a]", "[^]", "[\\]", "[\\]]", "[\\d]", "\\*", "\\", "[[]", "[[a]", "[a&&b]", "[a~~b]", "[a||b]", "[&-~]",
        "[b-a!]", "[b-a!x]", "[b-a^x]", "[b-a]", "[b-a]*", "[!b-a]", "[z-a-c]", "[c-ba-q]", "[a-bz-a]", "[!!]", "[!", "[!a", "*.py", "src/**", "src/**/*.py", "/home/user/**", "{a,b}", "a.b", "a+b", "(a)", "a|b", "^a$", "é*", "[é-ö]", "?", "[!a-z]",
        "*a*b*c*d*", "a[b]c[d]e", "[*]", "[?]", "[a-c]*[!d]", "a\nb", "*\n", "[\n]", "[a\n]"]
TEXTS = ["", "a", "b", "c", "ab", "abc", "abcd", "aXbXc", "[", "]", "[]", "[a", "^", "!", "-", "\\", "\\*", "d", "x", "q", "é", "ö", "😀", "a\nb", "\n", "a.py", "src/a.py", "src/x/a.py", "/home/user/", "/home/user/x/../y", "*", "?", "&", "~", "|", "{a,b}", "a.b", "aab", "A",
         "0", ".", "/", "abcde", "z", "a+b", "(a)", "a|b", "^a$"]
CHARS = "aabbccxz-!^]\\[&~|*?é\n"


def bracket():
    return "[" + rnd.choice(["", "", "!", "^"]) + "".join(rnd.choice("abcdz--!^]\\&~|é[") for _ in range(rnd.randint(0, 6))) + rnd.choice(["]", "]", "]", ""])


def pattern():
    return "".join(rnd.choice(["a", "b", "c", "*", "*", "?", "é", "-", bracket(), bracket()]) for _ in range(rnd.randint(0, 6)))


def text():
    if rnd.random() < 0.2:
        return rnd.choice(TEXTS)
    return "".join(rnd.choice(CHARS) for _ in range(rnd.randint(0, 6)))


def main():
    assert sys.version_info[:2] == (3, 11)
    rows = [[p, [[t, int(fnmatch.fnmatchcase(t, p))] for t in TEXTS]] for p in HAND]
    while len(rows) < 2500:
        p = pattern()
        rows.append([p, [[t, int(fnmatch.fnmatchcase(t, p))] for t in (text() for _ in range(10))]])
    buf = io.BytesIO()
    with gzip.GzipFile(fileobj=buf, mode="wb", mtime=0) as f:
        for r in rows:
            f.write((json.dumps(r, separators=(",", ":")) + "\n").encode())
    open("../fnmatch.jsonl.gz", "wb").write(buf.getvalue())
    print(len(rows), sum(len(r[1]) for r in rows), sum(a[1] for r in rows for a in r[1]), len(buf.getvalue()))


main()
