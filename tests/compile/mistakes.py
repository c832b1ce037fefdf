#!/usr/bin/env python3
"""Mistakes in typed tasks end in one short error that says what to do, and the same without the mistake compiles.

    tests/compile/mistakes.py COMPILER [FLAG...]
"""

import re
import subprocess
import sys
import tempfile

FRAME = """
#include <functional>
#include <memory>
#include <vector>
#include <vicinal/runtime.hpp>
using namespace vicinal;
void run(Runtime& runtime, Data<double> x, Data<double> y, Data<double, 2> tile) {{
  std::vector<double> values(10);
  const std::vector<double> constant(10);
  (void)x, (void)y, (void)tile;
  {}
}}
"""
AXPY = "[](double a, std::span<const double> from, std::span<double> to) {{ to[0] += a * from[0]; }}"
AXPY = AXPY.replace("{{", "{").replace("}}", "}")

# What is wrong, the statement, a part of the message, the number of the argument that it names.
MISTAKES = [
    ("writes what it reads", 'runtime.task("t", [](std::span<double>) {}, in(x));', "say inout(...) or out(...)", 1),
    ("only reads what it writes", 'runtime.task("t", [](double, std::span<const double>) {}, 1.0, inout(x));', "say in(...)", 2),
    ("another type", 'runtime.task("t", [](std::span<const float>) {}, in(x));', "another type than those of the data", 1),
    ("missing argument", f'runtime.task("t", {AXPY}, 2.0, in(x));', "fewer arguments than its function has parameters", None),
    ("one too many", f'runtime.task("t", {AXPY}, 2.0, in(x), inout(y), 3);', "more arguments than its function has parameters", None),
    ("order of operands", f'runtime.task("t", {AXPY}, in(x), 2.0, inout(y));', "this argument is data", 1),
    ("order of accesses", f'runtime.task("t", {AXPY}, 2.0, inout(x), in(y));', "say in(...)", 2),
    ("how is not said", 'runtime.task("t", [](std::span<const double>) {}, x);', "say how the task uses these data", None),
    ("dangling temporary", 'runtime.data(std::vector<double>(10), "v");', "give the vector a name", None),
    ("writes const data", 'runtime.task("t", [](std::span<double>) {}, out(runtime.data(constant, "c")));', "registered as const", None),
    ("a span for a tile", 'runtime.task("t", [](std::span<const double>) {}, in(tile));', "come as Tile<T>", 1),
    ("a column-major tile for a row-major one", 'runtime.task("t", [](Tile<const double>) {}, in(runtime.row_tile<double>(3, 2)));', "row-major ones as RowTile<T>", 1),
    ("a reference to a value", 'runtime.task("t", [](int&) {}, 3);', "what a task is to change is data", 1),
    ("cannot be copied", 'runtime.task("t", [](const std::unique_ptr<int>&) {}, std::make_unique<int>(3));', "std::shared_ptr", None),
    ("no conversion", 'runtime.task("t", [](int) {}, "three");', "cannot become the function's parameter", 1),
    ("not trivially copyable", 'runtime.data<std::vector<int>>(3);', "Element", None),
    ("generic, but not callable", 'runtime.task("t", [](auto a, auto b) { (void)a, (void)b; }, in(x));', "cannot be called with these arguments", None),
    ("a reference to what may be gone", 'int local = 0; runtime.task("t", [](int&) {}, std::ref(local));', "may refer to what is gone", None),
    ("a span that is no data", 'runtime.task("t", [](std::span<double>) {}, std::span(values));', "say in(x), out(x) or inout(x)", 1),
    ("a reduction that captures", 'runtime.set_reduction(x, [&] { return values[0]; }, std::plus<>());', "capture nothing", None),
    ("an unknown neutral element", 'runtime.set_reduction(x, std::minus<>());', "which element changes nothing", None),
    ("a reduction of something else", 'runtime.set_reduction(x, [] { return 0.0; }, [](double a) { return a; });', "a function of two elements", None),
    ("a kernel of a device without its stream", 'runtime.task("t", on_cuda([](std::span<double>) {}), inout(x));', "more arguments than its function has parameters", None),
    ("a kernel of a device that takes nothing", 'runtime.task("t", on_cuda([] {}), inout(x));', "the first parameter of a kernel for a device", None),
    ("a kernel of a device that writes what is read", 'runtime.task("t", [](std::span<const double>) {}, on_cuda([](CUstream_st*, std::span<double>) {}), in(x));', "say inout(...) or out(...)", 1),
    ("a kernel of a device with another first parameter", 'runtime.task("t", on_gpu([](int, std::span<double>) {}), inout(x));', "first its stream", None),
    ("two kernels for a kind", 'runtime.task("t", on_emulated([](std::span<double>) {}), on_emulated([](std::span<double>) {}), inout(x));', "two kernels for one kind", None),
    ("a result of one kernel of two", 'runtime.task("t", [](std::span<double>) { return 1; }, on_emulated([](std::span<double>) {}), inout(x));', "returns nothing", None),
    ("elements after their end", 'auto view = runtime.read(x).view();', "delete", None),
]
RIGHT = [
    f'runtime.task("t", {AXPY}, 2.0, in(x), inout(y));',
    'runtime.task("t", [](Tile<const double>) {}, in(tile));',
    'runtime.task("t", [](std::span<const double>) {}, in(runtime.data(constant, "c")));',
    'runtime.task("t", [](std::span<double>) {}, on_cuda([](CUstream_st*, std::span<double>) {}), on_emulated([](auto) {}), inout(x));',
    'runtime.task("t", on_gpu([](const KernelContext&, Tile<const double>, int) {}), in(tile), 3, expected(Time{5}), flops(2));',
    'runtime.task("t", [](Tile<double>) {}, inout(runtime.tile(Tile(values.data(), 5, 2))), expected(std::chrono::milliseconds(2)));',
    'auto held = runtime.read(x); auto view = held.view(); (void)view;',
    'runtime.data(values, "v"); runtime.data(std::span(values)); runtime.data<double>(3);',
    'runtime.task("t", [](auto from, int) { (void)from; }, in(x), 3);',
    'runtime.set_reduction(x, std::plus<>()); runtime.task("t", [](std::span<double>) {}, reduce(x));',
    'runtime.set_reduction(tile, [] { return 1.0; }, [](double a, double b) { return a < b ? b : a; });',
    'for (Data<double> part : runtime.partition(x, row_blocks(2))) runtime.release(part);',
    'runtime.release(runtime.data<int>({.path = "p", .offset = 8}, 3)); runtime.tile<int>({.path = "q"}, 2, 3, "q");',
]
MOST_ERRORS = 3
NAMED = r"number = {0}\b|check_argument<{0}UL,"  # by GCC, by Clang


def compile_text(command, statement):
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write(FRAME.format(statement))
        source.flush()
        done = subprocess.run([*command, "-fsyntax-only", source.name], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def errors_of(text):
    return re.findall(r"^[^\n]*error:[^\n]*", text, re.M)


def main():
    command = sys.argv[1:]
    if not command:
        sys.exit(__doc__)
    wrong = 0

    def fail(what, text):
        nonlocal wrong
        wrong += 1
        print(f"FAILED: {what}\n{text[:3000]}")

    status, text = compile_text(command, "\n".join(f"{{ {statement} }}" for statement in RIGHT))
    if status != 0:
        fail("what is right does not compile", text)
    for what, statement, message, number in MISTAKES:
        status, text = compile_text(command, statement)
        errors = errors_of(text)
        if status == 0:
            fail(f"{what}: it compiles", statement)
        elif message not in text:
            fail(f"{what}: the message lacks {message!r}", text)
        elif len(errors) > MOST_ERRORS:
            fail(f"{what}: {len(errors)} errors", "\n".join(errors))
        elif number is not None and not re.search(NAMED.format(number), text):
            fail(f"{what}: argument {number} is not named", text)
    print(f"{len(MISTAKES) + 1 - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
