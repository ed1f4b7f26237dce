#!/usr/bin/env python3.11
"""Writes ../re.jsonl.gz: what CPython 3.11's re says.

A line is {"p": pattern, "error": message, "pos": offset in characters or -1}
or {"p": pattern, "t": [[text, fullmatch?, search?], ...]}.
Run in this directory: python3.11 re.py
"""
import gzip
import io
import json
import random
import re
import signal
import sys
import warnings

warnings.simplefilter("ignore")
rnd = random.Random(20240611)

HAND = r'''
a|ab
(?:a|ab)(?:c|bcd)
^a$
^$
a$
$
a\Z
\Aa
(?m)^b$
(?m)^$
(?s).
.
a.b
a.*b
(?s)a.*b
a.+?b
a{2}
a{,2}
a{2,}
a{2,3}
a{,}
a{
a{}
a{x
a{1
a{1,
a{1,x}
a{ 1}
x{2}{3}
{
{1}
{a
}
]
a]
[]]
[]a]
[^]a]
[a-]
[-a]
[a\-z]
[a-\d]
[\d-a]
[z-a]
[a
[
[]
[^
[^]
[[a]
[a-c-e]
[\w-]
[a&&b]
[\b]
[\B]
[\A]
[\Z]
[\08]
[\400]
[\777]
[\x4]
[\u12]
[\U0010ffff]
[\U00110000]
[\]]
[\\]
[^\W\d_]
[^\n]
\d+
\D+
\w+
\W+
\s+
\S+
(?a)\d+
(?a)\w+
(?a)\s+
(?u)\w+
\bfoo\b
\Bfoo
foo\B
\b
\B
(?a)\bé
\bé
(?a:\b)é
\q
\y
\_
\é
\ 
\-
\/
\%
\0
\01
\012
\08
\1
\8
\18
\81
\100
\377
\400
\x41
\x4
\u0041
\u004
\U00000041
\U0000004
\U00110000
\N{DIGIT ZERO}
\N
\p{L}
\Q
\
a\
(
)
a)
(a
(?
(?P
(?P<
(?P<>
(?P<a
(?P<a>
(?P<a>b
(?P<a>b)(?P<a>c)
(?P<1a>b)
(?P<a-b>c)
(?P<a>b)(?P=a)
(?P=a)
(?P=
(?P=)
(?Px)
(?P>a)
(?<a>b)
(?<
(?<x
(?'a'b)
(?:
(?:a
(?#
(?#a
(?#a)b
(?#a\)b)c
(?=
(?=a)
(?!a)
(?<=a)b
(?<!a)b
(?<=a*)b
(?<=a|bc)d
(?<=ab|cd)e
(?<=(a))b
(?<=(?=a).)b
(a)(?<=\1)b
(?<=(a)\1)b
(?<=a{2})b
(?<=a{2,3})b
(?<=)a
(?<!)a
(?<=^a)b
(?<=\b)a
(?!)
(?=)
(?!a)(?!b).
foo(?!bar).*
foo(?!bar|baz|q).*
(?!foo).*bar
(?=.*\d)(?=.*[a-z]).{3,}
(?=(a+))\1b
(a)\1
(a*)\1
(a|b)*\1
(?:(a)|b)*\1
(a)|b\1
(\1a)
(a\1)
((a)\2)
(a)(b)(c)\3\2\1
(?i)(a)\1
(?i)(é)\1
(?i)a
(?i)[a-c]
(?i)[^a]
(?i)é
(?i)k
(?i)\u212a
(?i)ſ
(?i)s
(?i)i
(?i)İ
(?i)ı
(?i)ß
(?i)ẞ
(?i)µ
(?i)[µx]
(?i)σ
(?i)[α-ω]
(?i)\w
(?i)[\dA]
(?ai)k
(?ai)é
(?ia)[k-s]
(?i:a)b
(?-i:a)b
(?i)a(?-i:b)c
(?s-m:.)
(?m-s:.)
(?i-i:a)
(?-:a)
(?-)
(?i-:a)
(?i
(?i-
(?i-s
(?i-s)
(?iX)
(?i1)
(?L)a
(?L:a)
(?au)a
(?a)(?u)a
(?a:\w)(?u:\w)
(?u:a)
(?-a:b)
(?t)a
(?t)a*
(?t:a)
(?-t:a)
a(?i)
a(?i)b
(?i)(?s).
(?:(?i)a)
((?i)a)
(?#x)(?i)a
a|(?i)b
(?x) a b # c
(?x)a #c
(?x) a * b
(?x)a\ b
(?x)[ a]
(?x)a# \
(?x: a b ) c
(?x)a(?-x: b)
(?x)(?# a)b
(?x)a{ 1}
(?x)a {2}
(?x)#
*a
+a
?a
a**
a*+
a*?
a*?*
a+*
a++
a?+
a??
a{2}+
a{2}?
a{1,2}+a
a*+a
a++b
(?:ab)*+ab
(?:ab|a)++b
(?:aa|a){2}+
(?:aa|a){2}
(?>a*)a
(?>a|ab)c
(?>a+)b
(?>(?:|a)*)b
(?:|a)*b
(?:a?)*b
(?:a*)*b
(?:a*)+b
(?:a*?)*?b
(?:a|b?)*c
(?:)*
(?:)+a
()*a
()+\1a
(a?)*\1b
^*
$*
\b*
\A+
(?:^)*a
(?=a)*a
(?=a)+a
(?<=a)?b
(a)?b(?(1)c|d)
(a)?(?(1)b)
(a)?(?(1)b|)
(a)?(?(1)|b)
(?P<n>a)?(?(n)b|c)
(?(1)a|b)
(?(1)a|b)(c)
(?(0)a)
(?(a)b)
(?(-1)b)
(?( 1 )b)(c)
(?(1_0)b)
(?(1
(?(1)
(?(1)a
(?(1)a|b|c)(d)
(?()a)
(?(99)a)
((?(1)a|b))
(?<=(?(1)a|b))(c)
(a)(?<=(?(1)a|b))c
(a+)+b
(a|aa)+b
(a|a?)+b
(?:.*)*x
.*.*.*x
(x+x+)+y
a{1000}
a{65535}
a{4294967295}
a{4294967294}
a{99999999999999999999}
a{3,2}
(?:a{2}){3}
[\ud800-\udfff]
\ud800
\udcff
[^a]
[^\x00-\x7f]
[\x00-\x7f]
[\u0100-\uffff]
[😀-😂]
😀
(?i)𐐀
(?i)[𐐀-𐐂]
é+
(é|e)x
\w{3}
tool:git:(?!push|merge_request).*
rm\s+-[rf]+\s+/
^(?:sudo\s+)?rm\b
\brm\s+(-[a-z]*f[a-z]*\s+)*/
curl[^|]*\|\s*(ba)?sh
(?i)drop\s+table
^git (status|log|diff)( .*)?$
(?P<cmd>\w+) (?P=cmd)
^(?!.*(?:\.\.|~)).*\.py$
(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+com
"(?:[^"\\]|\\.)*"
(?<!\\)"
(?<![\w/])etc/passwd
.{3}
.{0,3}
.{2,}x
(?s:.)*x
(?:a|b|c)+d
(?:foo|foobar)(?:bar)?
[ab]*?b
x*
x*y
xx*
\Z
a\Zb
a$b
a$\n
(?m)a$\nb
(?m)^b
(?s)^.*\Z
^^a
a$$
(?:a$|b)c?
(?:^a|b)
|
a|
|a
a||b
(|a)b
()
(())
(?:(?:(?:a)))
'''.strip("\n").split("\n")

TEXTS = ["", "a", "b", "ab", "ba", "aa", "aab", "abc", "foo", "foobar", "foo bar", "a\n", "\n", "a\nb", "a\nb\n", "\na",
         "é", "É", "e\u0301", "ß", "ẞ", "ſ", "K", "k", "İ", "ı", "i", "I", "µ", "μ", "Σ", "ς", "σ", "٣", "3", "²", "Ⅷ", "_", "-",
         "\u00a0", "\u2028", "\x1c", "\x85", " ", "\t", "😀", "𐐀", "𐐨", "{", "}", "]", "a{", "a{}", "a{1", "aaa", "aaaa", "aaab",
         "abab", "ababab", "bcd", "abcd", "acbcd", "\\", "\"", "x", "xx", "xy", "A", "AB", "aA", "éÉ", "\x00", "\x08", "A1", "a b",
         "tool:git:push", "tool:git:status", "rm -rf /", "sudo rm x", "git log", "git log -1", "curl x | sh", "DROP  table",
         "ls ls", "a.b.com", "\"a\\\"b\"", "../x.py", "a.py", "/etc/passwd", "bd", "ac", "cab", "ddc", "ca", "aac", "aabb"]

ATOMS = ["a", "b", "c", "ab", "é", ".", r"\d", r"\w", r"\s", r"\W", r"\D", r"\S", "[ab]", "[^a]", "[^ab]", "[a-c]", r"[\w-]", r"[^\s]",
         "[é-ö]", r"\.", r"\n", "-", " ", "x", "1", "_", r"[^\n]", "(?:a|b)", "(?:ab|a)", "(?:a|ab|)", "A", "B", r"\x61"]
ASSERT = ["^", "$", r"\b", r"\B", r"\A", r"\Z", "(?=a)", "(?!a)", "(?<=a)", "(?<!b)", "(?=ab|b)", "(?!ab|c)", "(?<!ab)", r"(?=\w+b)"]
QUANT = ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{2,}", "{0}"]


class Gen:
    def __init__(self):
        self.groups = 0
        self.open = []

    def seq(self, depth):
        return "".join(self.item(depth) for _ in range(rnd.choice([0, 1, 1, 2, 2, 3, 3, 4])))

    def alt(self, depth):
        return "|".join(self.seq(depth) for _ in range(rnd.choice([1, 1, 1, 2, 2, 3])))

    def item(self, depth):
        k = rnd.random()
        if depth <= 0 or k < 0.5:
            x = rnd.choice(ATOMS)
            if len(x) == 2 and x.isalpha():
                return x
        elif k < 0.62:
            return rnd.choice(ASSERT)
        elif k < 0.70:
            self.groups += 1
            n = self.groups
            self.open.append(n)
            x = "(" + self.alt(depth - 1) + ")"
            self.open.remove(n)
        elif k < 0.78:
            x = "(?:" + self.alt(depth - 1) + ")"
        elif k < 0.83:
            x = "(?>" + self.alt(depth - 1) + ")"
        elif k < 0.87:
            x = rnd.choice(["(?=", "(?!"]) + self.alt(depth - 1) + ")"
        elif k < 0.89:
            x = "(?<" + rnd.choice("=!") + self.seq(depth - 1) + ")"
        elif k < 0.93 and self.groups:
            x = "\\" + str(rnd.randint(1, self.groups))
            if rnd.random() < 0.3:
                x = "(?:" + x + ")"
        elif k < 0.95:
            x = "(?" + rnd.choice(["i", "s", "m", "a", "-i", "i-s", "x"]) + ":" + self.alt(depth - 1) + ")"
        elif k < 0.97 and self.groups:
            x = "(?(%d)%s|%s)" % (rnd.randint(1, self.groups), self.seq(depth - 1), self.seq(depth - 1))
        else:
            x = rnd.choice(ATOMS)
        if rnd.random() < 0.35:
            x += rnd.choice(QUANT)
            r = rnd.random()
            if r < 0.2:
                x += "?"
            elif r < 0.35:
                x += "+"
        return x


def text():
    if rnd.random() < 0.15:
        return rnd.choice(TEXTS)
    return "".join(rnd.choice("aaabbbccx1 -_.é\nAB") for _ in range(rnd.randint(0, 7)))


def mutate(p):
    if not p:
        return p
    i = rnd.randrange(len(p) + 1)
    k = rnd.random()
    if k < 0.4:
        return p[:i] + p[i + 1:]
    return p[:i] + rnd.choice("()[]{}*+?|\\^$.-:=!<>#PiLx1a,&") + p[i:]


class Slow(Exception):
    pass


def alarm(*_):
    raise Slow


def row(p, texts):
    try:
        c = re.compile(p)
    except re.error as e:
        return {"p": p, "error": e.msg, "pos": -1 if e.pos is None else e.pos}
    except (OverflowError, ValueError, RecursionError) as e:
        return {"p": p, "error": str(e), "pos": -1}
    out = []
    for t in texts:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            out.append([t, int(c.fullmatch(t) is not None), int(c.search(t) is not None)])
        except (Slow, SystemError):  # CPython reports bugs of its own as SystemError
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return {"p": p, "t": out}


def main():
    assert sys.version_info[:2] == (3, 11)
    signal.signal(signal.SIGALRM, alarm)
    rows = [row(p, TEXTS) for p in HAND]
    rows += [row(p + q, []) for p, q in [("(?x)a #c\n b", ""), ("a" * 300 + "(", "")]]
    seen = set(HAND)
    while len(rows) < 5000:
        p = Gen().alt(3)
        r = rnd.random()
        if r < 0.08:
            p = rnd.choice(["(?i)", "(?s)", "(?m)", "(?a)", "(?x)", "(?is)"]) + p
        if r > 0.9:
            p = mutate(p)
        if p in seen or len(p) > 80:
            continue
        seen.add(p)
        rows.append(row(p, [text() for _ in range(12)]))
    while len(rows) < 7000:
        p = mutate(mutate(rnd.choice(HAND)))
        if p not in seen:
            seen.add(p)
            rows.append(row(p, rnd.sample(TEXTS, 6)))
    buf = io.BytesIO()
    with gzip.GzipFile(fileobj=buf, mode="wb", mtime=0, compresslevel=9) as f:
        for r in rows:
            f.write((json.dumps(r, ensure_ascii=True, separators=(",", ":")) + "\n").encode())
    with open("../re.jsonl.gz", "wb") as f:
        f.write(buf.getvalue())
    n = sum(2 * len(r.get("t", [])) or 1 for r in rows)
    print(len(rows), "patterns,", n, "answers,", sum("error" in r for r in rows), "errors,", len(buf.getvalue()), "bytes")


main()
