#!/usr/bin/env python3
"""Question: what do typed tasks cost the compiler? Compares a file with 20 typed tasks, each a lambda of its own over two or
three operands and a value, with a file that does the same with 20 codelets. The least time of several turns counts, and
the two files take turns. Least possible: that of a file that includes <vicinal/runtime.hpp> alone, the third column.

    bench/compile_time.py [--repetitions 5] [--tasks 20] [COMPILER...]      g++ and clang++ unless some are named

Exit status 1: typed tasks take --most-seconds (2) longer than codelets, with some compiler.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

INCLUDE = Path(__file__).resolve().parent.parent / "include"
HEAD = "#include <cstddef>\n#include <span>\n#include <vicinal/runtime.hpp>\nusing namespace vicinal;\n"
# Every third task reads one operand rather than two.
EMPTY = HEAD + "int main() { Runtime runtime; }\n"


def statement(number, a, b, to, value):
    return f"{to}[i] += {value} * {a}[i] + {number}" + (f" * {b}[i];" if b else ";")


def typed(tasks):
    text = HEAD + ("void run(Runtime& runtime, Data<double> a, Data<double> b, Data<double> c, double v) {\n")
    for number in range(tasks):
        second = number % 3 != 0
        other = "std::span<const double> y, " if second else ""
        text += (f'  runtime.task("task{number}", [](double by, std::span<const double> x, {other}std::span<double> to) {{\n'
                 f"    for (std::size_t i = 0; i < to.size(); ++i) {statement(number, 'x', 'y' if second else '', 'to', 'by')}\n"
                 f"  }}, v, in(a), {'in(b), ' if second else ''}inout(c), priority({number}));\n")
    return text + "}\n"


def with_codelets(tasks):
    text, body = HEAD, "void run(Runtime& runtime, Handle a, Handle b, Handle c, double v) {\n"
    for number in range(tasks):
        second = number % 3 != 0
        last = 2 if second else 1
        text += (f"void kernel{number}(KernelContext& k) {{\n  const auto by = k.parameter<double>();\n"
                 f"  const double* x = k.data<double>(0);\n"
                 + ("  const double* y = k.data<double>(1);\n" if second else "") +
                 f"  double* to = k.data<double>({last});\n"
                 f"  for (std::size_t i = 0; i < k.count<double>({last}); ++i) "
                 f"{statement(number, 'x', 'y' if second else '', 'to', 'by')}\n}}\n"
                 f'const Codelet codelet{number}{{.name = "task{number}", .cpu = kernel{number}}};\n')
        body += (f"  runtime.submit({{.codelet = &codelet{number}, .operands = {{R(a), {'R(b), ' if second else ''}RW(c)}}, "
                 f".parameters = v, .priority = {number}}});\n")
    return text + body + "}\n"


def seconds_of(command):
    start = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compilers", nargs="*")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--most-seconds", type=float, default=2)
    arguments = parser.parse_args()
    compilers = arguments.compilers or [name for name in ("g++", "clang++") if shutil.which(name)]
    too_slow = False
    print(f"{'':12}{'':5}{'typed':>9}{'codelets':>10}{'neither':>9}{'more':>8}   seconds, the least of {arguments.repetitions}")
    with tempfile.TemporaryDirectory() as folder:
        sources = {name: Path(folder, f"{name}.cpp") for name in ("typed", "codelets", "neither")}
        sources["typed"].write_text(typed(arguments.tasks))
        sources["codelets"].write_text(with_codelets(arguments.tasks))
        sources["neither"].write_text(EMPTY)
        for compiler in compilers:
            for level in ("-O0", "-O2"):
                least = dict.fromkeys(sources, float("inf"))
                for _ in range(arguments.repetitions):
                    for name, source in sources.items():
                        command = [compiler, "-std=c++20", level, f"-I{INCLUDE}", "-c", str(source), "-o", "/dev/null"]
                        least[name] = min(least[name], seconds_of(command))
                more = least["typed"] - least["codelets"]
                too_slow |= more > arguments.most_seconds
                print(f"{compiler:12}{level:5}{least['typed']:9.2f}{least['codelets']:10.2f}{least['neither']:9.2f}{more:8.2f}",
                      flush=True)
    return 1 if too_slow else 0


if __name__ == "__main__":
    sys.exit(main())
