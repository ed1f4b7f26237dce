package code

import (
	"strings"
	"testing"
)

// usesOf writes the uses of code, "?" if it is not understood.
func usesOf(text string) string {
	uses, ok := Python(text)
	if !ok {
		return "?"
	}
	var out []string
	for _, u := range uses {
		out = append(out, strings.TrimSpace(u.How+" "+u.Name))
	}
	return strings.Join(out, ", ")
}

func TestPythonReader(t *testing.T) {
	for text, want := range map[string]string{
		"print(1+1)":                                "",
		"print('rm -rf /')":                         "",
		"import sys; print(sys.version)":            "module sys",
		"import numpy":                              "module numpy",
		"import numpy as np; print(np.__version__)": "module numpy",
		"import torch; print(torch.__version__, torch.cuda.is_available())":                                                                                      "module torch",
		"import json,sys; d=json.load(sys.stdin); print(d['version'])":                                                                                           "module json, module sys",
		"import json; print(json.load(open('package.json'))['name'])":                                                                                            "module json, read package.json",
		"import json\nwith open('a.json', 'r', encoding='utf-8') as f:\n    d = json.load(f)\nfor k, v in d.items():\n    print(f\"{k}: {v!r:>10} {len(v)}\")\n": "module json, read a.json",
		"open('out.txt','w').write('x')":                                                                                                                         "write out.txt",
		"open('out.txt', mode='a').write('x')":                                                                                                                   "write out.txt",
		"import yaml; yaml.safe_load(open('.github/workflows/ci.yml'))":                                                                                          "module yaml, read .github/workflows/ci.yml",
		"from collections import Counter; print(Counter('abc').most_common(2))":                                                                                  "module collections",
		"from pkg.mod import thing":                                                                                                                              "module pkg.mod, module pkg.mod.thing",
		"import os; print(os.path.join('a','b'), os.getcwd())":                                                                                                   "module os",
		"import os; print(os.environ.get('HOME'))":                                                                                                               "module os, environ",
		"import os; print(os.listdir('src'))":                                                                                                                    "module os, list src",
		"import datetime; print(datetime.datetime.now().isoformat())":                                                                                            "module datetime",
		"import re\nx = re.sub(r'\\d+', lambda m: m.group(0)*2, 'a1')\nprint(x)":                                                                                 "module re",
		"def f(a, b=2):\n  return a+b\nprint(f(1), [f(i) for i in range(3)])":                                                                                    "",
		"import importlib.metadata as m; print(m.version('pip'))":                                                                                                "module importlib.metadata",
		"try:\n  import foo\nexcept ImportError as e:\n  print('missing', e)":                                                                                    "module foo",
		"assert 1 == 1, 'x'": "",
		"x = 5 if True else 6; print(x ** 2, x // 2, not x)": "",
		"import sys; sys.exit(0)":                            "module sys",

		"import os; os.system('rm x')": "?", "import os; os.remove('x')": "?", "__import__('os').remove('x')": "?", "eval('1')": "?", "exec('1')": "?",
		"import subprocess; subprocess.run(['rm','x'])": "?", "from os import remove; remove('x')": "?", "from os import remove as print; print('x')": "?",
		"from shutil import rmtree; list(map(rmtree, ['x']))": "?", "import shutil as json; json.rmtree('x')": "?", "import json, os as json; json.remove('x')": "?",
		"open('x'+'y').read()": "?", "open('.en' 'v').read()": "?", "open(name).read()": "?", "map(open, ['x'])": "?", "open('x', **{'mode':'w'})": "?", "open('x', 'r', 0)": "?", "open('x', opener=f)": "?",
		"open('\\x2eenv')": "?", "open(f'{1}.env')": "?", "open = print": "?", "x = open": "?",
		"().__class__.__base__.__subclasses__()": "?", "1..__class__": "?", "1 .__class__": "?", "''.__class__": "?", "print.__self__.open": "?", "getattr(int,'x')": "?",
		"f'{__import__(\"os\")}'": "?", "f'{a[\"!r\"] + __import__(\"os\").name}'": "?", "f'''{x # }\n}'''": "?", "f'{x}' f'{open}'": "?",
		"import requests; requests.get('http://h')": "?", "import requests as r; r.version('x')": "?", "g = requests": "?", "import os; f = os.remove": "?", "import os; os": "?",
		"import sys; sys.modules['os']": "?", "import sys; sys.path.insert(0,'x')": "?", "from os import *": "?", "from . import x": "?", "import statistics; statistics.sys": "?",
		"# coding: utf-7\n#+AAo-x": "?", "x\r": "?", "User.objects.all()": "?", "frob('x')": "?", "print(frob('x'), a=1)": "?", "print(x)": "?", "globals()": "?", "input()": "?", "x = `1`": "?",
		"import operator; operator.attrgetter('x')": "?", "from pathlib import Path; Path('x').unlink()": "?", "from pathlib import Path\np = Path('a')\np.write_text(p.read_text().replace('x', 'y'))": "module pathlib, module pathlib.Path, write a, read a", "from pathlib import Path\np = Path('a')\np = p.parent": "?", "from pathlib import Path\np = Path('a')\nfor p in x: p.read_text()": "?",
		"import pathlib; pathlib.Path('a').replace('b')": "?", "import pathlib; print(pathlib.Path('a').read_text())": "module pathlib, read a", "from pathlib import Path; print(Path('a') / 'b')": "?", "from pathlib import Path; f(Path('a'))": "?", "if __name__ == '__main__': print(1)": "", "__name__.__class__": "?", "class X: __del__ = 1": "?", "async def f(): pass": "?",
		"import(os)": "?", "(": "?", ")": "?", "'": "?", "print(1))": "?", "'''": "?", "f'{'": "?", "f'}'": "?", "\\": "?",
		"import json as open; open.load": "?",

		// Reaching more than the names say: by attributes, types, fields of formats, other letters.
		"import os; print('{0.__globals__[os].environ}'.format(os.path.join))": "?", "'{0.__' 'class__}'.format(1)": "?", "'{:{0.x}}'.format(1)": "?", "str.format('{0.a}', 1)": "?", "'{0.a}'.format_map({})": "?",
		"'{} {:.2f}'.format(1, 2.5)": "", "g = b = fr = 0\nT = int\nmatch g:\n case T(gi_frame=fr): pass": "?", "match = case = 1\nmatch x:\n case 1: pass": "?", "match = 1; print(match)": "",
		"import sys; type(sys.stdout.buffer)('.env')": "?", "t = type(1)": "?", "map(type, [1])": "?", "type('X', (), {})": "?", "print(type(1), type('x').__name__, f'{type(2)}', type(1) == int)": "", "def print(f, x): return f(x)\nprint(type(1), 'x')": "?",
		"import ast; ast.parse('x x', '.env')": "?", "import ast; ast.parse(*['x x', '.env'])": "?", "import ast; f = ast.parse": "?", "import ast; ast.parse(open('a.py').read())": "module ast, read a.py",
		"import xml; p = xml.__path__; p.insert(0, '/tmp'); import xml.x": "?", "f = dict; f(ｅxec=1); ｅxec('1')": "?", "é = 1": "?", "print('é')": "",
		"import datetime; d = datetime.date.today(); f\"\"\"{d:'}{__import__('os').name}' '{d:'}\"\"\"": "?",
		"from sys import stdin as math\nif 0: import math\nmath.buffer":                                 "?", "import json; json.loads = print": "?", "import json; json.loads, x = print, 1": "?", "import json\nfor json.loads in [print]: pass": "?", "import json\nwith open('x') as json.loads: pass": "?",
		"import sys; print(sys.version, end='')": "module sys", "print(1, file=2); file('.env')": "?", "import platform; platform.architecture('x')": "?", "class A(metaclass=print): pass": "?",
		"import venv.__main__": "?", "from pip import __main__": "?", "import antigravity": "?", "if (n := len('abc')) > 2: print(n)": "",
	} {
		if got := usesOf(text); got != want {
			t.Errorf("Python %q: %q, want %q", text, got, want)
		}
	}
}

func FuzzCode(f *testing.F) {
	for _, text := range []string{"", "f'{x!r:>3}'", "import a.b as c, d", "from a import (b as c)", "open('x', mode='w')", "a = (b for c in d)", "`${a}`", "const {a, b} = require('x')", "a => b", "/[/]/g", "x?.y"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if uses, ok := Python(text); ok && len(uses) > len(text) {
			t.Errorf("%q: %d uses", text, len(uses))
		}
	})
}
