#!/usr/bin/env python3.11
"""Writes ../bash.jsonl.gz: what AgentScope's rule for a Bash rule's content says.

A line is [content, error message or null, [[command, answer], ...]]. The rule is
written down here from its description; Python's re does the rest.
Run in this directory: python3.11 bash.py
"""
import gzip
import io
import json
import random
import re
import sys
import warnings

warnings.simplefilter("ignore")
rnd = random.Random(11)


def matches(content, command):
    if content.endswith(":*"):
        prefix = content[:-2].strip()
        return command == prefix or command.startswith(prefix + " ")
    i, star = 0, False
    while i < len(content):
        if content[i] == "\\":
            i += 2
            continue
        if content[i] == "*":
            star = True
            break
        i += 1
    if not star:
        return content.replace("\\\\", "\\").replace("\\*", "*") in command
    ph1, ph2 = "\ue000", "\ue001"
    r = content.replace("\\\\", ph1).replace("\\*", ph2)
    r = re.sub(r"[.^$+?{}\[\]|()]", lambda m: "\\" + m.group(0), r)
    r = r.replace("*", ".*").replace(ph2, "\\*").replace(ph1, "\\\\")
    if r.endswith(".*"):
        if re.fullmatch(r[:-2].rstrip(), command):
            return True
    try:
        return re.fullmatch(r, command) is not None
    except re.error:
        return content.replace("*", "") in command


HAND = ["", ":*", " :*", "git:*", "git :*", " git:*", "git:**", "git:* ", "git", "git *", "git  *", "git\t*", "*", "**", "* *", "rm *", "npm run *", "git * --force", "*.py", "ls -la *.txt", "a.b", "a+b*", "(a)*", "a|b*", "[a]*", "{a}*", "^a*", "a$*",
        "\\*", "a\\*b", "a\\*b*", "\\\\*", "\\\\", "a\\", "a\\*", "\\d*", "\\d+*", "a\\.b*", "a\\+b*", "a\\|b *", "a\\(b*", "a\\)b*", "a\\[b*", "foo\\q*", "*foo\\q", "foo\\ *", "\\1*", "*\\1", "\\bx*", "*\\b", "\\s*", "\\w*x", "x\\n*", "\\", "*\\", "\\\\\\*", "a\\?b*", "a\\{2}*", "\\A*", "*\\Z", "é*", "*é", "a:*b"]
TEXTS = ["", " ", "git", "git ", "git status", "git\nstatus", "git  x", " git x", "gitx", "rm", "rm -rf /", "rm a\nb", "npm run test", "git push --force", "a.py", "ls -la x.txt", "a.b", "axb", "a+b", "a+bc", "(a)", "a|b", "a|bx", "[a]", "{a}x", "^ab", "a$b", "*", "a*b", "a*bc", "\\", "\\x", "1", "12x",
         "a\\b", "a\\xb", "foo", "foo\\q", "fooq", "foo ", "x", "x\n", "xy", "é", "éa", "aé", "a:xb", "\\*", "b c", "a\\", "\\\\"]
CHARS = list("aab  **\\\\.+|(:[?dsw1é\n")


def main():
    assert sys.version_info[:2] == (3, 11)
    rows, seen = [], set()

    def row(content, texts):
        try:
            return [content, None, [[t, int(matches(content, t))] for t in texts]]
        except re.error as e:
            return [content, e.msg, []]

    for c in HAND:
        seen.add(c)
        rows.append(row(c, TEXTS))
    while len(rows) < 2000:
        c = "".join(rnd.choice(CHARS) for _ in range(rnd.randint(1, 7))) + rnd.choice(["", "", " *", ":*", "*"])
        if c in seen:
            continue
        seen.add(c)
        texts = [rnd.choice(TEXTS) for _ in range(3)] + ["".join(rnd.choice("aab  *\\.+|1dé\n") for _ in range(rnd.randint(0, 6))) for _ in range(5)]
        texts += [c.replace("*", ""), c.replace("*", "x"), c.replace("\\", ""), c.replace("*", "a b").replace("\\", "")]
        rows.append(row(c, texts))
    buf = io.BytesIO()
    with gzip.GzipFile(fileobj=buf, mode="wb", mtime=0) as f:
        for r in rows:
            f.write((json.dumps(r, separators=(",", ":")) + "\n").encode())
    open("../bash.jsonl.gz", "wb").write(buf.getvalue())
    print(len(rows), sum(len(r[2]) for r in rows), sum(r[1] is not None for r in rows), sum(a[1] for r in rows for a in r[2]), len(buf.getvalue()))


main()
