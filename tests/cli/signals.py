#!/usr/bin/env python3
"""vicinal while it runs: Ctrl-C, the progress bar on a terminal, and reports on request.

    tests/cli/signals.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time

from vicinal import CACHE, VICINAL, check, finish, has_terminals


def interrupt(arguments, which, after):
    process = subprocess.Popen([VICINAL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "XDG_CACHE_HOME": CACHE.name})
    blocked = 0
    # Until it is blocked the signal would end the process in the system's way.
    while process.poll() is None and not blocked >> (which - 1) & 1:
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
            blocked = int(status.read().split("SigBlk:")[1].split()[0], 16)
    time.sleep(after)
    process.send_signal(which)
    stdout, stderr = process.communicate(timeout=60)
    return process.returncode, stdout, stderr


def test_interrupt(folder):
    path = os.path.join(folder, "interrupted.json")
    # In the first run: nothing is written, and no empty file is left.
    status, stdout, stderr = interrupt(
        ["simulate", "cholesky", "--tiles", "200", "--machine", "v100", "--json", path], signal.SIGINT, 0.3)
    check(status == 130, f"Ctrl-C: exit status {status}")
    check(stdout == "" and "interrupted" in stderr, f"Ctrl-C: {stdout}{stderr}")
    check(not os.path.exists(path), "Ctrl-C leaves no empty file")
    # When some runs have ended: they are printed and written; all of them would take minutes.
    with open(path, "w", encoding="utf-8") as file:
        file.write("old")
    status, stdout, stderr = interrupt(
        ["simulate", "cholesky", "--tiles", "30", "--machine", "v100", "--json", path, "--policy",
         ",".join(["eager"] + 2000 * ["lws"])], signal.SIGTERM, 2)
    check(status == 143, f"SIGTERM: exit status {status}")
    ended = int(stderr.split("interrupted: ")[1].split()[0])
    check(0 < ended < 2001, f"SIGTERM: {stderr}")
    with open(path, encoding="utf-8") as file:
        check(len(json.load(file)["runs"]) == ended, "the runs that have ended are written")
    check("\npolicy " in stdout, f"and printed: {stdout}")
    check(not [name for name in os.listdir(folder) if name.endswith(".tmp")], f"{os.listdir(folder)}")
    # A real run that works on a disk.
    status, _, stderr = interrupt(["run", "cholesky", "--size", "6000", "--tile", "60", "--memory", "10MiB",
                                   "--disk", folder], signal.SIGINT, 1)
    check(status == 130 and "interrupted" in stderr, f"Ctrl-C of a real run: {status} {stderr}")


def read_terminal(descriptor):
    text = b""
    while True:
        try:
            part = os.read(descriptor, 4096)
        except OSError:
            part = b""
        if not part:
            return text.decode()
        text += part


def on_terminal(columns, terminal, *job):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
    process = subprocess.Popen([VICINAL, "run", "cholesky", *job], stdout=subprocess.DEVNULL, stderr=theirs,
                               env={**os.environ, "TERM": terminal})
    os.close(theirs)
    text = read_terminal(ours)
    check(process.wait(timeout=120) == 0, "run on a terminal")
    return text


def test_progress_bar():
    if not has_terminals("the progress bar"):
        return
    started = time.monotonic()
    text = on_terminal(100, "xterm", "--size", "6000", "--tile", "100")
    seconds = time.monotonic() - started
    check("tasks" in text and "factorise" in text, f"a progress bar on a terminal: {text!r}")
    check(text.count("tasks") <= 10 * seconds + 1, "at most 10 updates per second")
    for columns in (79, 40, 20):
        text = on_terminal(columns, "xterm", "--size", "4500", "--tile", "60")
        lines = [line for part in text.split("\r") for line in part.replace("\x1b[K", "").split("\n")]
        check("lws" in text, f"a line on {columns} columns: {text!r}")
        check(max(len(line) for line in lines) < columns, f"no line wraps at {columns} columns: {lines}")
    text = on_terminal(100, "dumb", "--size", "2000", "--tile", "60")
    check("\x1b" not in text and "\r" not in text.replace("\r\n", ""), f"TERM=dumb: {text!r}")


def test_stall_report():
    # Blocked from the start, so that a signal that comes early waits for its reader.
    block = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    process = subprocess.Popen([VICINAL, "run", "cholesky", "--size", "4000", "--tile", "100"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               preexec_fn=block)

    def ask():  # while the reports are read: a full pipe would hold the run up
        while process.poll() is None:
            process.send_signal(signal.SIGUSR1)
            time.sleep(0.02)

    asking = threading.Thread(target=ask)
    asking.start()
    _, stderr = process.communicate(timeout=120)
    asking.join()
    check(process.returncode == 0, f"SIGUSR1: exit status {process.returncode}")
    reports = set(stderr.splitlines()) - {"no run in progress", ""}
    check(reports, f"SIGUSR1: no report in {stderr!r}")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    test_interrupt(temporary)
    test_progress_bar()
    test_stall_report()
finish()
