#!/usr/bin/env python3
"""Makes the API reference, a page for each public header, in build/reference/html. scripts/make-pages calls it.

    docs/reference/make.py            makes the pages
    docs/reference/make.py --check    also: exit status 1 if a public member has no sentence, or a header no page
    docs/reference/make.py --self-test

Doxygen makes the pages and names members without documentation; where Doxygen is not installed, a line says so. It reads
copies of the headers, in which plain comments become documentation:

 - The comment that a header begins with is about the file; a comment above a declaration, or behind one, is about that. An
   overload without a comment has the comment of the overload above.
 - An indented line is code. A sentence "Throws UsageError if ...; DeviceError if ..." is about these exceptions, and a line
   that begins with "`name`: " about that parameter.
 - Namespaces `internals` and the insides of functions are left out, and members whose names and meanings the standard library
   prescribes: moves, and what ranges and iterators need.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OUTPUT = ROOT / "build" / "reference"
HEADERS = ROOT / "include" / "vicinal"
DOXYFILE = "docs/reference/Doxyfile"

OPENS_SCOPE = re.compile(r"^\s*(?:template\s*<.*>\s*)?(?:inline\s+)?(?:(?:namespace|class|struct|union|enum)\b|extern\s)")
LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'')
TRAILING = re.compile(r"^(\s*[^/\s].*?[^/\s:])\s*//(?!/) ?(.*)$")
ALONE = re.compile(r"^(\s*)//(?!/)(.*)$")
THROWS = re.compile(r"(?:(?<=\.\s)|^)Throws\s+([A-Z]\w+Error\b.*?\.)(?=\s+[A-Z`]|$)", re.S)
ERROR = re.compile(r"(?:^|[;,]\s+)(\w+Error)\b[:,]?")

PLAIN = re.compile(r" (?:---|NOLINT|namespace )")  # a comment that documents nothing
FUNCTION = re.compile(r"(?:\s*template\s*<[^;{]*?>\s)*(?:[^;(){}=]*?\W)?(~?\w+|operator\W{1,3})\(")
PRESCRIBED = re.compile(
    r"\s*(?:using (?:iterator_category|value_type|difference_type|element_type) =|(?:constexpr )?(?:\w+&? )?operator(?:\+\+|[+-]=)\(|\S+(?: \S+)? operator\*\(\)"
    r"|\w+ (?:begin|end)\(\) const|(?:(\w+)(?:& operator=)?)\(\1?\w*&&|friend )")
DECLARES = re.compile(r"[;,}\w]$")
INTERNALS = re.compile(r"^namespace (?:\w+::)*internals \{")


def paragraphs(lines):
    """The lines of a comment, in Doxygen's terms."""
    out, code, text = [], [], []

    def end_text():
        nonlocal text
        if text:
            joined = "\n".join(text)
            joined = THROWS.sub(lambda m: ERROR.sub(r"\n@throws \1 ", m.group(1)) + "\n\n", joined)
            joined = re.sub(r"(?m)^`(\w+)`: ", r"\n@param \1 ", joined)
            out.extend(line.strip() for line in joined.split("\n"))
            text = []

    def end_code():
        nonlocal code
        if code:
            while code and not code[-1].strip():
                code.pop()
            out.extend(["", "@code{.cpp}", *code, "@endcode", ""])
            code = []

    for line in lines:
        if line.startswith("   ") and not line.strip().startswith("- ") or (code and not line.strip()):
            end_text()
            code.append(line[3:])
        elif not line.strip():
            end_text()
            out.append("")
        else:
            end_code()
            text.append(line.removeprefix(" "))
    end_text()
    end_code()
    return out


class Header:
    def __init__(self, lines):
        self.lines = lines
        self.out = []
        self.scopes = []  # of each open brace: whether declarations are in it
        self.pending = ""  # of a declaration that goes on
        self.last = ("", "")  # the function that was documented last, and its documentation
        self.documented = -1  # its line

    def in_scope(self):
        return all(self.scopes)

    def follow(self, code):
        """Notes the braces of a line without its comment."""
        code = re.sub(r"//.*$", "", LITERAL.sub('""', code))
        code = re.sub(r"\{\}(?=\W*$)", ";", code)
        for character in re.findall(r"[{};]", code.replace("{}", "")):
            if character == "{":
                self.scopes.append(bool(OPENS_SCOPE.match(self.statement(code))))
                self.pending = ""
                code = code.split("{", 1)[1]
            elif character == "}":
                if self.scopes:
                    self.scopes.pop()
                self.pending = ""
                code = code.split("}", 1)[1]
            else:
                self.pending = ""
                code = code.split(";", 1)[1]
        if code.strip() and not re.match(r"\s*(?:#|(?:public|protected|private):\s*$)", code):
            self.pending += " " + code

    def statement(self, code):
        return (self.pending + " " + code.split("{", 1)[0]).strip()

    def comment_from(self, at):
        """The lines of the comment that begins there, and the number of the line behind it."""
        found = []
        while at < len(self.lines) and (match := ALONE.match(self.lines[at])):
            found.append(match.group(2))
            at += 1
        return found, at

    def run(self):
        lines, at = self.comment_from(0)
        self.out += ["/** @file", *paragraphs(lines), "*/"]
        while at < len(self.lines):
            if INTERNALS.match(self.lines[at]):
                at = self.behind_scope(at)
            elif ALONE.match(self.lines[at]):
                at = self.comment_above(at)
            elif self.in_scope() and not self.pending.strip() and PRESCRIBED.match(self.lines[at]):
                at = self.behind_declaration(at)
            elif self.in_scope() and (match := TRAILING.match(self.lines[at])):
                at = self.comment_behind(at, *match.groups())
            else:
                self.document_overload(at)
                self.follow(self.lines[at])
                self.out.append(self.lines[at])
                at += 1
        return "\n".join(self.out)

    def behind_scope(self, at):
        depth = len(self.scopes)
        self.follow(self.lines[at])
        while len(self.scopes) > depth:
            at += 1
            if not ALONE.match(self.lines[at]):
                self.follow(self.lines[at])
        self.pending = ""
        return at + 1

    def behind_declaration(self, at):
        depth = len(self.scopes)
        while True:
            line = self.lines[at]
            self.follow(line)
            at += 1
            if len(self.scopes) == depth and re.search(r"[;}]\s*$", line):
                return at

    def comment_above(self, at):
        indent = ALONE.match(self.lines[at]).group(1)
        comment, end = self.comment_from(at)
        if comment[0].startswith(" --- "):
            comment = comment[1:] or comment
        declared = self.lines[end] if end < len(self.lines) else ""
        if self.in_scope() and declared.strip() and not self.pending.strip() and not PLAIN.match(comment[0]):
            text = "\n".join(paragraphs(comment)).strip()
            self.out.append(f"{indent}/** {text} */")
            self.last, self.documented = (self.function_at(end), text), end
        return end

    def function_at(self, at):
        """The name of the function whose declaration begins there; empty: it is something else."""
        text = ""
        while at < len(self.lines) and len(text) < 1000:
            text += self.lines[at] + " "
            if match := FUNCTION.match(text):
                return match.group(1)
            if re.search(r"[;{}]", text):
                return ""
            at += 1
        return ""

    def document_overload(self, at):
        if at == self.documented or not self.in_scope() or self.pending.strip() or not self.lines[at].strip():
            return
        name = self.function_at(at)
        if name and name == self.last[0]:
            text = re.sub(r"(?s)\n@param .*?(?=\n(?:\n|@)|$)", "", self.last[1])
            self.out.append(f"/** {text} */")
        elif not self.lines[at].startswith((" }", "}")):
            self.last = ("", "")

    def comment_behind(self, at, code, text):
        column = len(self.lines[at]) - len(text) - 3
        documents = not PLAIN.match(" " + text) and DECLARES.search(code)
        if not documents:
            self.document_overload(at)
        at += 1
        while self.lines[at][:column].strip() == "" and self.lines[at][column:column + 2] == "//":
            text += "\n" + self.lines[at][column + 3:].strip()
            at += 1
        self.follow(code)
        self.out.append(f"{code} /**< {text} */" if documents else code)
        return at


def documented(text):
    return Header(text.split("\n")).run()


def page_of(header):
    return OUTPUT / "html" / (header.stem.replace("_", "__") + "_8hpp.html")


def make():
    """Doxygen's warnings, and the headers that have no page."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    copies = OUTPUT / "include" / "vicinal"
    copies.mkdir(parents=True)
    headers = sorted(HEADERS.glob("*.hpp"))
    for header in headers:
        (copies / header.name).write_text(documented(header.read_text(encoding="utf-8")), encoding="utf-8")
    subprocess.run(["doxygen", DOXYFILE], cwd=ROOT, check=True)
    warnings = (OUTPUT / "warnings.txt").read_text(encoding="utf-8").replace(str(copies), "include/vicinal").splitlines()
    return warnings, [header for header in headers if not page_of(header).is_file()], len(headers)


SELF_TEST = """// A header. See `other`.
//
//   Box box(1);
#pragma once
namespace vicinal {
namespace internals {
// Not told.
struct Hidden {};
}  // namespace internals
// A box.
class Box {
 public:
  // Opens it. Throws UsageError: it is
  // locked; DeviceError, then, if it is broken. Then it is open.
  // `key`: its key.
  explicit Box(int key);
  explicit Box(double key);
  bool is_open() const { return size > 0; }  // now
  int size = 0;  // in inches,
                 // outside
  int bare = 0;

 private:
  int own = 0;
};
}  // namespace vicinal
namespace other {
// Opened.
void open();
}
"""
EXPECTED = [
    "/** @file\nA header. See `other`.\n\n\n@code{.cpp}\nBox box(1);\n@endcode\n", "/** A box. */\nclass Box",
    "/** Opens it.\n@throws UsageError  it is\nlocked\n@throws DeviceError  then, if it is broken.\n\nThen it is open.\n\n@param key its key. */\n"
    "  explicit Box(int key);",
    "Then it is open.\n */\n  explicit Box(double key);", "/**< now */", "int size = 0; /**< in inches,\noutside */",
    "  int bare = 0;\n", "/** Opened. */",
]


def self_test():
    text = documented(SELF_TEST)
    missing = [part for part in EXPECTED if part not in text]
    assert not missing and "Hidden" not in text and "Not told" not in text, f"{missing}\n{text}"
    print("reference self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    if not shutil.which("doxygen"):
        print("the API reference is left out: doxygen is not installed")
        return 0
    warnings, without_page, count = make()
    findings = [*warnings, *(f"include/vicinal/{header.name}: no page" for header in without_page)]
    print("\n".join([*findings, f"API reference: {count - len(without_page)} pages of {count} headers in"
                     f" build/reference/html, {len(warnings)} warnings"]))
    return 1 if findings and sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
