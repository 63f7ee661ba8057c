"""Parses modules of Python's own library and writes their syntax trees as text again: a visitor whose contexts are the paths of these trees, of which there are hundreds of thousands.

    unparse.py [MODULES]
"""

import ast
import sys
from pathlib import Path


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    files = sorted(Path(ast.__file__).parent.glob("*.py"))[:count]
    print(sum(len(ast.unparse(ast.parse(file.read_text("utf-8")))) for file in files))


main()
