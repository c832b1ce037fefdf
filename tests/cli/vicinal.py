"""What the tests of the command line share: running vicinal, and keeping count of what is wrong."""

import os
import pty
import subprocess
import sys
import tempfile

VICINAL = os.path.abspath(sys.argv[1])
SMALL = ["--size", "300", "--tile", "64"]
WHOLE = ["--size", "256", "--tile", "64"]  # whole tiles, 4 x 4
CACHE = tempfile.TemporaryDirectory()  # learned run times are not to land in the user's
failures = []


def run(*arguments, environment=None, folder=None):
    return subprocess.run(
        [VICINAL, *arguments], capture_output=True, text=True, timeout=120, cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": CACHE.name, **(environment or {})})


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED:", what)


def expect_refusal(result, status, parts, what):
    check(result.returncode == status, f"{what}: exit status {result.returncode}, not {status}")
    for part in parts:
        check(part in result.stderr, f"{what}: no '{part}' in: {result.stderr}")
    check(result.stderr.startswith("vicinal: ") and result.stderr.count("\n") == 1,
          f"{what}: not one line: {result.stderr}")
    check(result.stdout == "", f"{what}: wrote to the output: {result.stdout}")


def has_terminals(what):
    try:
        for descriptor in pty.openpty():
            os.close(descriptor)
        return True
    except OSError as error:  # a container without /dev/pts
        print(f"skipped: {what} on a terminal ({error})")
        return False


def policy_names():
    # Settings stand below their policy, indented.
    return [line.split()[0] for line in run("policies").stdout.splitlines() if not line.startswith(" ")]


def finish():
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)
