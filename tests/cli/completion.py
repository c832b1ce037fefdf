#!/usr/bin/env python3
"""vicinal man and vicinal completion: every command and option is there, and shells take the scripts.

    tests/cli/completion.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed. What is not installed (man, zsh, fish) is skipped.
"""

import os
import re
import shutil
import subprocess
import tempfile

from vicinal import VICINAL, check, expect_refusal, finish, policy_names, run


def commands_and_options():
    """What the help says: by command its options, those of the program under the empty name."""
    text = run("--help").stdout
    block = re.split(r"subcommands:\n", text, flags=re.IGNORECASE)[1].split("Examples:")[0]
    names = re.findall(r"^ {2}([a-z]+) ", block, flags=re.MULTILINE)
    found = {"": options_of(text)}
    for name in names:
        found[name] = options_of(run(name, "--help").stdout)
    return found


def options_of(text):
    """Those at the begin of a line, not those that sentences speak of."""
    return sorted({option for heads in re.findall(r"^ {2}(-[^ ]*)", text, flags=re.MULTILINE)
                   for option in heads.split(",")})


def section(text, begin, end):
    return text.split(begin, 1)[1].split(end, 1)[0] if begin in text else ""


def test_man(commands):
    result = run("man")
    check(result.returncode == 0 and result.stderr == "", f"man: {result.stderr}")
    page = result.stdout.replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "")
    of_runtime = section(page, ".SH OPTIONS OF THE RUNTIME", ".SH EXIT STATUS")
    for command, options in commands.items():
        if command == "":
            text = section(page, ".SH DESCRIPTION", ".SH COMMANDS")
        else:
            text = section(page, f"\n.SS {command}\n", "\n.S")
            check(text != "", f"man: no section on {command}")
        for option in options:
            if option in ("-h", "--help"):
                continue
            named = re.search(rf"(?<![-\w]){re.escape(option)}(?![-\w])", text)
            check(named, f"man: {command} without {option}")
            if "Options of the runtime" in text and named and f"\n.TP\n{option}" not in text and option[:2] == "--":
                described = f"\n.TP\n{option}" in of_runtime or re.search(rf"\n\.TP\n-., {option}", text)
                check(described, f"man: {option} of {command} is named and not described")
    check(len(of_runtime.split(".TP")) > 20, "man: the options of the runtime")
    for reader in (["groff", "-man", "-Tutf8", "-ww", "-z"], ["man", "--warnings", "-l"]):
        if shutil.which(reader[0]) is None:
            print(f"skipped: the man page read by {reader[0]}")
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
            file.write(result.stdout)
            file.flush()
            seen = subprocess.run([*reader, file.name], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
        check(seen.returncode == 0 and seen.stderr == "", f"{reader[0]}: {seen.stderr}")


def complete(script, *words, folder=None):
    """What bash offers for the last word."""
    program = """
source "$1"; shift
# As bash splits a line: "=" is a word of its own.
COMP_WORDS=(); for word; do
  case $word in --*=*) COMP_WORDS+=("${word%%=*}" "=" ); [[ -n ${word#*=} ]] && COMP_WORDS+=("${word#*=}") ;;
                *) COMP_WORDS+=("$word") ;;
  esac
done
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_vicinal vicinal "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
    result = subprocess.run(["bash", "-u", "-c", program, "bash", script, "vicinal", *words], capture_output=True,
                            text=True, timeout=60, cwd=folder)
    check(result.returncode == 0 and result.stderr == "", f"bash: {words}: {result.stderr}")
    return sorted(line for line in result.stdout.split("\n") if line)


def test_bash(folder, commands):
    if shutil.which("bash") is None:
        print("skipped: completion in bash")
        return
    script = os.path.join(folder, "vicinal.bash")
    with open(script, "w", encoding="utf-8") as file:
        file.write(run("completion", "bash").stdout)

    def offered(*words):
        return complete(script, *words, folder=folder)

    check(offered("") == sorted(set(commands) - {""}), f"commands: {offered('')}")
    check(offered("sim") == ["simulate"], f"sim: {offered('sim')}")
    for command, options in commands.items():
        words = [command, "-"] if command else ["-"]
        check(offered(*words) == options, f"{command} -: {offered(*words)}, not {options}")
    check(offered("run", "--mem") == ["--memory", "--memory-rules"] or offered("run", "--mem") == ["--memory"],
          f"--mem: {offered('run', '--mem')}")
    check("cholesky" in offered("run", "") and "stencil" not in offered("run", ""), f"{offered('run', '')}")
    check(offered("run", "lu") == ["lu", "lu-incpiv"], f"lu: {offered('run', 'lu')}")
    check(offered("simulate", "--policy", "") == sorted(policy_names() + ["all"]), "policies")
    check(offered("simulate", "--policy", "darts,dmda") ==
          [f"darts,{name}" for name in sorted(policy_names()) if name.startswith("dmda")], "policies after a comma")
    check(offered("run", "cholesky", "--policy=dart") == offered("run", "--policy", "dart") != [], "--policy=dart")
    check("v100p" in offered("simulate", "--machine="), f"--machine=: {offered('simulate', '--machine=')}")
    check(offered("export", "run.vtrace", "--format", "g") == ["graph"], "--format g")
    check(offered("run", "--precision", "") == ["double", "float"], "--precision")
    check(offered("run", "--panel-tree", "") == ["binary", "flat"], "--panel-tree")
    check(offered("completion", "") == ["bash", "fish", "zsh"], "shells")
    os.mkdir(os.path.join(folder, "a folder"))
    with open(os.path.join(folder, "a file"), "w", encoding="utf-8"):
        pass
    check(offered("export", "a f") == ["a file", "a folder"], f"files: {offered('export', 'a f')}")
    check(offered("run", "--trace", "a f") == ["a file", "a folder"], f"--trace: {offered('run', '--trace', 'a f')}")
    check(offered("run", "--disk", "a f") == ["a folder"], f"folders: {offered('run', '--disk', 'a f')}")


def test_other_shells(folder, commands):
    for shell, syntax in (("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])):
        result = run("completion", shell)
        check(result.returncode == 0 and result.stderr == "", f"{shell}: {result.stderr}")
        for command, options in commands.items():
            check(command in result.stdout, f"{shell}: no {command}")
            for option in options:
                name = option.lstrip("-")
                written = option if shell == "zsh" else f"-{'l' if option.startswith('--') else 's'} {name}"
                check(written in result.stdout, f"{shell}: no {option} of {command}")
        if shutil.which(shell) is None:
            print(f"skipped: completion read by {shell}")
            continue
        script = os.path.join(folder, f"vicinal.{shell}")
        with open(script, "w", encoding="utf-8") as file:
            file.write(result.stdout)
        read = subprocess.run([*syntax, script], capture_output=True, text=True, timeout=60)
        check(read.returncode == 0 and read.stderr == "", f"{shell}: {read.stderr}")
    if shutil.which("fish"):
        offered = subprocess.run(
            ["fish", "-c", f"source {folder}/vicinal.fish; complete -C 'vicinal simulate --policy darts,dmdas'"],
            capture_output=True, text=True, timeout=60, env={**os.environ, "HOME": folder})
        check("darts,dmdas" in offered.stdout and offered.stderr == "", f"fish: {offered.stdout} {offered.stderr}")


def test_refusals():
    expect_refusal(run("completion"), 2, ["which shell", "bash", "zsh", "fish"], "no shell")
    expect_refusal(run("completion", "bsh"), 2, ["bsh", "did you mean bash"], "a shell misspelt")


with tempfile.TemporaryDirectory() as temporary:
    known = commands_and_options()
    check(len(known) > 10 and "--policy" in known.get("run", []), f"help of {VICINAL}: {known.keys()}")
    test_man(known)
    test_bash(temporary, known)
    test_other_shells(temporary, known)
    test_refusals()
finish()
