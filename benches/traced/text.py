"""Works on the sources of Python's own library with that library: JSON, pretty printing, wrapping, tokens, differences, pickles. Each is a phase with other callers.

    text.py
"""

import ast
import difflib
import inspect
import io
import json
import json.encoder
import json.scanner
import pickle
import pprint
import textwrap
import tokenize
from pathlib import Path

MODULES = ["argparse", "ast", "bisect", "calendar", "csv", "heapq"]

# The versions in Python, not those in C.
json.encoder.c_make_encoder = None
json.scanner.make_scanner = json.scanner.py_make_scanner


def tree(node):
    """A syntax tree as dictionaries and lists."""
    if isinstance(node, ast.AST):
        return {"kind": type(node).__name__, **{name: tree(value) for name, value in ast.iter_fields(node)}}
    if isinstance(node, list):
        return [tree(item) for item in node]
    return node if isinstance(node, (str, int, float, bool, type(None))) else repr(node)


def to_json(source):
    written = json.dumps(tree(ast.parse(source)), indent=1)
    return len(written) + len(json.JSONDecoder().decode(written))


def pretty(source):
    return sum(len(pprint.pformat(tree(part), width=100)) for part in ast.parse(source).body[:6])


def wrapped(source):
    return sum(len(textwrap.fill(inspect.cleandoc(part), 60)) for part in source.split("\n\n"))


def tokens(source):
    return sum(len(token.string) for token in tokenize.generate_tokens(io.StringIO(source).readline))


def differences(source):
    lines = source.splitlines()[:300]
    changed = [line.replace("self", "this") for line in lines if len(line) % 7]
    return sum(map(len, difflib.ndiff(lines, changed)))


def pickled(source):
    out = io.BytesIO()
    pickle._Pickler(out).dump(tree(ast.parse(source)))
    return len(repr(pickle._Unpickler(io.BytesIO(out.getvalue())).load()))


def main():
    folder = Path(ast.__file__).parent
    for work in (to_json, pretty, wrapped, tokens, differences, pickled):
        print(work.__name__, sum(work((folder / f"{name}.py").read_text("utf-8")) for name in MODULES))


main()
