"""Ranks in processes of tests/mpi/faults_program.cpp: their process ids, what they say, and their end."""

import os
import re
import signal
import subprocess
import threading
import time

# Tests may run as root in a container, and on fewer cores than there are ranks.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


class Job:
    def __init__(self, command, ranks, **options):
        settings = {f"VICINAL_{name.upper()}": str(value) for name, value in options.items()}
        # The library refuses variables that it does not know.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("VICINAL_FAULT_")}
        self.ranks = ranks
        self.began = time.monotonic()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env={**inherited, **ENVIRONMENT, **settings}, start_new_session=True)
        self.text = ""
        self.pids = {}
        self.begins = threading.Event()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.text += line
            # Lines of several ranks may come as one: each ends with a space.
            for rank, pid in re.findall(r"ready (\d+) (\d+) ", line):
                self.pids[int(rank)] = int(pid)
            if "begins" in line:
                self.begins.set()
        self.begins.set()

    def wait_for_tasks(self):
        self.begins.wait(60)
        while len(self.pids) < self.ranks and self.process.poll() is None and time.monotonic() < self.began + 60:
            time.sleep(0.01)

    def alive(self):
        """The ranks that run."""
        return [rank for rank, pid in sorted(self.pids.items()) if state_of(pid) not in (None, "Z")]

    def wait_for_ranks(self, most):
        """The seconds until no rank runs; `most` at most."""
        since = time.monotonic()
        while self.alive() and time.monotonic() < since + most:
            time.sleep(0.01)
        return time.monotonic() - since

    def end(self, most):
        """The seconds until the launcher and all ranks have ended; what is left is killed."""
        since = time.monotonic()
        try:
            self.process.wait(most)
        except subprocess.TimeoutExpired:
            pass
        self.wait_for_ranks(since + most - time.monotonic())
        seconds = time.monotonic() - since
        for rank in self.alive():
            try:
                os.kill(self.pids[rank], signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join()
        return seconds


def fields_of(pid):
    """What /proc/PID/stat says behind the name; none: there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def state_of(pid):
    fields = fields_of(pid)
    return fields[0] if fields else None


def processor_seconds(pid):
    """Those that the process has used so far, of all its threads; 0 if it has ended."""
    fields = fields_of(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0
