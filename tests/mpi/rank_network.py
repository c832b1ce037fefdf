"""Network namespaces, one for each rank, joined by a bridge with a rate: tests/mpi/network.py and bench/namespaces.py."""

import os
import shutil
import subprocess
import sys

NETWORK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "network")
INSIDE = "TEST_NETWORK_VICINAL"  # the library refuses unknown variables that begin with VICINAL_
SKIPPED = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def enter_namespaces():
    """Starts this program anew where it has a network, processes and mounts of its own; there it does nothing."""
    if INSIDE in os.environ:
        return
    if os.geteuid() != 0:
        skip("network namespaces need root")
    for program in ("ip", "tc", "unshare"):
        if shutil.which(program) is None:
            skip(f"there is no {program}")
    unshare = ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        skip("the system gives no namespaces")
    os.execvpe("unshare", [*unshare, sys.executable, "-B", os.path.abspath(sys.argv[0]), *sys.argv[1:]],
               {**os.environ, INSIDE: "1"})


def set_up(ranks, rate):
    # ip keeps its names there: these are not to be seen outside.
    os.makedirs("/run/netns", exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run/netns"], check=True)
    made = subprocess.run([os.path.join(NETWORK, "up"), str(ranks), rate], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        skip(f"no network in namespaces: {made.stderr}")
