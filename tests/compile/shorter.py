#!/usr/bin/env python3
"""Programs of typed tasks are shorter than the same with codelets: lines of code of docs/examples/codelets/*.cpp and of
their namesakes in docs/examples, without comments, blank lines and includes. "form" leaves out the lines that both have,
which compute the same whatever runs them.

    tests/compile/shorter.py [FOLDER_OF_EXAMPLES]
"""

import collections
import re
import sys
from pathlib import Path


def code_lines(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    lines = [re.sub(r"//.*", "", line).strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#include")]


def main():
    root = Path(__file__).resolve().parents[2]
    examples = Path(sys.argv[1]) if len(sys.argv) > 1 else root / "docs" / "examples"
    pairs = [(examples / path.name, path) for path in sorted((examples / "codelets").glob("*.cpp"))]
    if not pairs:
        sys.exit(f"no examples in {examples / 'codelets'}")
    longer = []
    print(f"{'':16}{'typed':>8}{'codelets':>10}{'ratio':>8}{'form':>12}{'ratio':>8}")
    for typed_path, codelet_path in pairs:
        typed, codelets = code_lines(typed_path), code_lines(codelet_path)
        shared = sum((collections.Counter(typed) & collections.Counter(codelets)).values())
        own, others = len(typed) - shared, len(codelets) - shared
        print(f"{typed_path.stem:16}{len(typed):8}{len(codelets):10}{len(typed) / len(codelets):8.2f}"
              f"{own:7} /{others:3}{own / others:8.2f}")
        if len(typed) >= len(codelets):
            longer.append(typed_path.stem)
    if longer:
        print("not shorter than with codelets: " + ", ".join(longer))
    return 1 if longer else 0


if __name__ == "__main__":
    sys.exit(main())
