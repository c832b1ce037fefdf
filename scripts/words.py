"""Reads the project's sentences: those of its pages, of comments in its sources, and of texts in its C++ files.

    python3 scripts/words.py              exit status 1 on a finding; scripts/check-docs does the same
    python3 scripts/words.py --self-test  tests this script; scripts/check-docs --self-test does the same

A short sentence whose words mostly stand for other words is a riddle: of at most 18 words, four are `it`, `they`, `that`,
`those`, `who`, `what`, `which`, `one` or `other`. A sentence ends at a full stop; its parts at a colon or semicolon are
looked at, too. What stands in backquotes is one word, and none of these.

A measurement in a comment of src/, or in docs/architecture.md, belongs into docs/performance.md, where it has a date, a
machine and a table. It is a number with its unit that is longer, slower, more or less than another one, or that something
takes or costs. Examples in quotation marks and parameters ("differ by 2 %") are none.
"""

import io
import os
import re
import sys
import tokenize

FEWEST = 4
LONGEST = 18
STANDS_FOR = re.compile(r"(?i)^(?:it|they|that|those|who|what|which|one|other)(?:'s)?$")
SOURCES = ("src", "include", "apps", "cli", "tests", "bench", "scripts", "share", "docs", "cmake", "packaging")
LEFT_OUT = re.compile(r"(^|/)(uPlot|build|node_modules|__pycache__)|\.min\.js$")
WORD = re.compile(r"[A-Za-z0-9_'][\w'/-]*")
CODE_SPAN = re.compile(r"(`+)(.*?)\1", re.S)
FENCE = re.compile(r"^\s*(```|~~~)")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
ENDS_SENTENCE = re.compile(r"(?<=[.?!])[\"')*_]*\s+(?=[\"'(*_`]*[A-Z0-9`])|(?<=[.?!])$")
ENDS_PART = re.compile(r"(?<=[.?!;:])[\"')*_]*\s+")
NUMBER = r"(?:\b\d[\d,.]*|\b(?:two|three|four|five|six|ten))"
COMPARED = r"(?:slower|faster|longer|shorter|sooner|more|less|fewer)\b"
MEASUREMENT = re.compile(
    rf"{NUMBER} ?(?:%|per cent) (?:{COMPARED}|of (?:the|its) (?:time|bytes)\b)"
    rf"|{NUMBER} times (?:{COMPARED}|as (?:long|fast|slow|many|much)\b|the (?:time|bytes|copies)\b)"
    rf"|{NUMBER} ?(?:ns|us|ms|s|instructions) {COMPARED}"
    r"|\b(?:takes?|took|costs?|lasts?|pays?)\b[^.;:]{0,60}?\b\d[\d.,]* ?(?:ns|us|ms|s|instructions)\b(?!/)", re.I)
QUOTED = re.compile(r'"[^"]*"')


class Block:
    """Consecutive lines that are read as one text."""

    def __init__(self, line, text):
        self.line = line
        self.lines = [text]

    def add(self, text):
        self.lines.append(text)

    def text(self):
        return "\n".join(self.lines)

    def line_of(self, offset):
        return self.line + self.text().count("\n", 0, offset)


def blocks_of_page(text):
    """Paragraphs, items of lists and cells of tables."""
    block, fenced = None, False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced, stripped = not fenced, ""
        else:
            stripped = "" if fenced or line.lstrip().startswith("<") else line.strip()
        if stripped.startswith("|"):
            yield from (Block(number, cell) for cell in stripped.split("|") if cell.strip())
            stripped = ""
        begins = re.match(r"(#+|[-*+]|\d+\.|>)\s+", stripped)
        if block and (not stripped or begins):
            yield block
            block = None
        if begins:
            stripped = stripped[begins.end():]
        if stripped:
            if block:
                block.add(stripped)
            else:
                block = Block(number, stripped)
    if block:
        yield block


def joined(comments):
    """Comments (line, column, text, alone on its line) that continue each other become one block."""
    block, last, in_item = None, None, False
    for line, column, text, alone in comments:
        stripped = text.strip()
        is_item = stripped.startswith(("- ", "* "))
        if re.fullmatch(r"\S+\.[chjp]\w+", stripped):
            stripped = ""  # the name of a file above what it defines
        is_code = text.startswith("   ") and not is_item and not (block and in_item)
        begins = not stripped or is_code or is_item or stripped.startswith(("--- ", "@", "\\"))
        follows = block and alone and last == (line - 1, column)
        if block and (begins or not follows):
            yield block
            block = None
        last = (line, column)
        if not stripped or is_code:
            continue
        stripped = re.sub(r"^([-*]|---|[@\\]\w+)\s+", "", stripped)
        if block:
            block.add(stripped)
        else:
            block, in_item = Block(line, stripped), is_item
    if block:
        yield block


# A literal, or a comment, of C++ or JavaScript; whichever begins first.
LEXEME = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n]){1,4}'""", re.S)
SCRIPT_LEXEME = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`""", re.S)


def lexemes(text, pattern):
    """Comments as for `joined`, and literals as blocks: adjacent literals are one block."""
    comments, literals, end = [], [], None
    for match in pattern.finditer(text):
        start, found = match.start(), match.group(0)
        line = text.count("\n", 0, start) + 1
        begin = text.rfind("\n", 0, start) + 1
        if found.startswith("//"):
            comments.append((line, start - begin, found.lstrip("/").removeprefix("<"), not text[begin:start].strip()))
        elif found.startswith("/*"):
            for i, part in enumerate(found[2:-2].splitlines()):
                comments.append((line + i, -1, re.sub(r"^\s*\*", "", part), True))
        elif found.startswith('"'):
            content = re.sub(r"\\(.)", lambda m: {"n": "\n", "t": " "}.get(m.group(1), m.group(1)), found[1:-1])
            if end is not None and not text[end:start].strip():
                literals[-1].add(content)
            else:
                literals.append(Block(line, content))
            end = match.end()
    for literal in literals:
        literal.lines = ["".join(literal.lines)]
    return comments, literals


def python_comments(text):
    comments = []
    try:
        last = tokenize.NEWLINE
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            line, column = token.start
            if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
                comments.append((line, column, token.string[1:], not token.line[:column].strip()))
            elif token.type == tokenize.STRING and last in (tokenize.NEWLINE, tokenize.INDENT, tokenize.NL):
                for i, part in enumerate(token.string.strip("\"'rf").splitlines()):
                    comments.append((line + i, -1, " " + part if i == 0 else " " + part[column:], True))
            if token.type != tokenize.COMMENT:
                last = token.type
    except (tokenize.TokenError, IndentationError, SyntaxError):
        pass
    return comments


def shell_comments(text):
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"^(\s*)#(?!!)(.*)$", line) or re.match(r"^(.*?\S\s+)# (.*)$", line)
        if match:
            yield number, len(match.group(1)), " " + match.group(2).strip(), not match.group(1).strip()


def blocks_of(path, text):
    """Pairs (kind, block); the kind is page, comment or text."""
    name = os.path.basename(path)
    literals = []
    if path.endswith(".md"):
        yield from (("page", block) for block in blocks_of_page(text))
        return
    if path.endswith((".cpp", ".hpp", ".h", ".cl", ".cu")):
        comments, literals = lexemes(text, LEXEME)
    elif path.endswith((".js", ".css")):
        comments, _ = lexemes(text, SCRIPT_LEXEME)
    elif path.endswith(".py") or text.startswith("#!/usr/bin/env python3"):
        comments = python_comments(text)
    elif path.endswith((".sh", ".cmake", ".toml")) or name == "CMakeLists.txt" or text.startswith("#!"):
        comments = shell_comments(text)
    else:
        return
    yield from (("comment", block) for block in joined(comments))
    yield from (("text", block) for block in literals)


def riddles(kind, block):
    """Pairs (line, sentence). A text that the program prints is read by sentences alone."""
    text = CODE_SPAN.sub(lambda m: "CODE" + "\n" * m.group(0).count("\n"), LINK.sub(r"\1", block.text()))
    found = {}
    for ends in (ENDS_SENTENCE,) if kind == "text" else (ENDS_SENTENCE, ENDS_PART):
        start = 0
        for stop in [match.end() for match in ends.finditer(text)] + [len(text)]:
            words = WORD.findall(text[start:stop])
            if len(words) <= LONGEST and sum(bool(STANDS_FOR.match(word)) for word in words) >= FEWEST:
                line = block.line + text.count("\n", 0, start)
                if not any(abs(line - other) < 2 for other in found):
                    found[line] = " ".join(text[start:stop].split())
            start = stop
    return sorted(found.items())


def check_text(path, text):
    findings = []
    for kind, block in blocks_of(path, text):
        for line, sentence in riddles(kind, block):
            findings.append(f"{path}:{line}: a riddle of pronouns: \"{sentence}\" Remedy: name the things")
        if path == "docs/architecture.md" or (kind == "comment" and path.startswith("src/")):
            content = QUOTED.sub(lambda m: '"' + "\n" * m.group(0).count("\n") + '"', block.text())
            for match in MEASUREMENT.finditer(content):
                findings.append(f"{path}:{block.line_of(match.start())}: a measurement in a comment:"
                                f" \"{' '.join(match.group(0).split())}\". Remedy: a line in docs/performance.md")
    return findings


def files(root):
    yield from sorted(name for name in os.listdir(root)
                      if os.path.isfile(os.path.join(root, name)) and name.endswith((".md", "CMakeLists.txt")))
    for folder in SOURCES:
        for at, folders, names in os.walk(os.path.join(root, folder)):
            folders.sort()
            for name in sorted(names):
                path = os.path.relpath(os.path.join(at, name), root).replace(os.sep, "/")
                if not LEFT_OUT.search(path):
                    yield path


def check(root):
    findings = []
    for path in files(root):
        try:
            with open(os.path.join(root, path), encoding="utf-8") as stream:
                findings += check_text(path, stream.read())
        except UnicodeDecodeError:
            pass
    return findings


# Pairs (path, text, what one finding contains; None: no finding).
SELF_TEST = [
    ("src/room/bad.hpp", "// Tells those that wait\n// for it who has what.\nint x;\n", ["bad.hpp:1:", "Tells those"]),
    ("src/room/good.hpp", "// A worker that waits for memory is woken by the copy.\nint x;  // it\nint y;  // that, which, who\n", None),
    ("src/room/behind.cpp", "int x;  // what it has of those\n        // that wait\n", ["behind.cpp:1:"]),
    ("src/room/apart.cpp", "int x;  // what it has\n// of those that wait\nint y;\n", None),
    ("src/room/code.hpp", "// Example:\n//\n//   it.those(that, which, who);\n", None),
    ("src/room/item.hpp", "//  - Who has it\n//    gives that to those.\n", ["item.hpp:1:"]),
    ("src/room/quoted.hpp", "// `it` and `they` and `that` are words, and `which`.\n", None),
    ("src/room/block.cpp", "/* Who has it\n * gives that to those. */\n", ["block.cpp:1:"]),
    ("src/room/text.cpp", 'say("give it to those "\n    "that want one");\n', ["text.cpp:1:", "give it to those that want one"]),
    ("src/room/raw.cpp", 'auto s = R"(// it, that, those, who)";\n', None),
    ("src/room/part.cpp", "// The node is full: who holds that waits for one of those.\n", ["part.cpp:1:", "who holds that"]),
    ("src/room/long.cpp", "// " + "word " * 15 + "it that those who.\n", None),
    ("src/room/slow.cpp", "// Without this a product takes\n// 0.39 s.\n", ["slow.cpp:1:", "takes 0.39 s"]),
    ("src/room/share.cpp", "// With a walk the run is 6 % longer.\n", ["share.cpp:1:", "6 % longer"]),
    ("src/room/parameter.cpp", "// Times that differ by 2 % are equal. \"It took 3 s.\" A tick is 5 ms.\n", None),
    ("docs/architecture.md", "A walk makes the\nrun 6 % longer.\n", ["architecture.md:2:", "6 % longer"]),
    ("tests/unit/slow.cpp", "// With a walk the run is 6 % longer.\n", None),
    ("docs/page.md", "# Page\n\nIt gives\nthat to those\nwho wait.\n```text\nit that those who\n```\n", ["page.md:3:"]),
    ("docs/table.md", "| what it is | who has that |\n|---|---|\n| `those` | [one](that.md) |\n", None),
    ("docs/list.md", "- what it is\n- who has that\n1. which of those\n", None),
    ("cli/tool.py", '"""Which of those has it, who knows."""\nx = 1\n', ["tool.py:1:"]),
    ("cli/data.py", 'x = "which of those has it"\n', None),
    ("scripts/tool", "#!/usr/bin/env bash\n# Gives it to those\n# who want that\n", ["tool:2:"]),
    ("share/page.js", 'const s = "that those it who"; // that is\n// it: what those are, who knows.\n', ["page.js:2:"]),
]


def self_test():
    failures = 0
    for path, text, fragments in SELF_TEST:
        found = check_text(path, text)
        as_expected = not found if fragments is None else len(found) == 1 and all(f in found[0] for f in fragments)
        if not as_expected:
            failures += 1
            print(f"{path}: expected {'nothing' if fragments is None else f'one finding with {fragments}'}, got {found}")
    print(f"words self-test: {len(SELF_TEST) - failures} of {len(SELF_TEST)} as expected")
    return failures


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(1 if self_test() else 0)
    FOUND = check(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    print("\n".join([*FOUND, f"words: {len(FOUND)} finding(s)"]))
    sys.exit(1 if FOUND else 0)
