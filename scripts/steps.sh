# For scripts that run steps and count them; to be sourced from the root of the tree, with pipefail set. The last line of
# such a script is "N passed, N failed": tests, and each other step that can fail counted as one.

jobs=$(nproc)
passed=0
failed=0
times=()
failures=()
failed_tests=() # named again at the end, where whoever looks at a long log looks first
failed_logs=()
launcher=() # before every program of a build and its tests

# note_time <since> <what>
note_time() {
  times+=("$(printf '%5d s  %s' $((SECONDS - $1)) "$2")")
}

# step <name> <command...>: runs it, notes its time and its outcome, and goes on after a failure.
step() {
  local name=$1 start=$SECONDS status=0
  shift
  printf '\n=== %s\n' "$name"
  "$@" || status=$?
  note_time "$start" "$name"
  if ((status == 0)); then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    failures+=("$name")
    printf 'FAILED: %s (exit status %d)\n' "$name" "$status"
  fi
  return $status
}

build() { # <preset> <targets> [configure options]
  local preset=$1 targets
  read -ra targets <<<"$2"
  shift 2
  # Some sixty programs are linked, which takes this linker a third of the time.
  command -v ld.lld >/dev/null && set -- -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld "$@"
  "${launcher[@]}" cmake --preset "$preset" -DVICINAL_TEST_BATCH=42 "$@" &&
    "${launcher[@]}" cmake --build --preset "$preset" -j"$jobs" --target "${targets[@]}"
}

# tests <preset> <name> <command...>: counts every test, not the step as a whole.
tests() {
  local preset=$1 log="build/$1/tests-$2.log" start=$SECONDS status counts what="tests, $1, $2"
  shift 2
  printf '\n=== %s\n' "$what"
  "${launcher[@]}" "$@" | tee "$log"
  status=${PIPESTATUS[0]}
  note_time "$start" "$what"
  # "97% tests passed, 3 tests failed out of 100"
  counts=$(sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests? failed out of ([0-9]+)$/\1 \2/p' "$log")
  if [[ -n $counts ]]; then
    failed=$((failed + ${counts% *}))
    passed=$((passed + ${counts#* } - ${counts% *}))
  fi
  if ((status != 0)); then
    failures+=("$what")
    failed_logs+=("$log")
    # "\t 12 - unit/Name (Failed)" below "The following tests FAILED:"
    mapfile -t -O "${#failed_tests[@]}" failed_tests < <(
      sed -nE "s/^[[:space:]]+[0-9]+ - (.*\))[[:space:]]*[a-z ]*$/$preset: \1/p" "$log")
    # Nothing counted, yet not well: no tests found, or the runner itself stopped.
    [[ $counts == "0 "* || -z $counts ]] && failed=$((failed + 1))
  fi
}

# tests_together <preset> <folders and options>: many tests of tests/ in one process.
tests_together() {
  tests "$1" together scripts/run-tests "build/$1" "${@:2}" --jobs "$jobs"
}

# The lines that say what is wrong, of the output of tests that failed.
what_failed_said() {
  grep -hE -A4 'Failure$|^FAILED:|ERROR: |WARNING: ThreadSanitizer|runtime error|Timeout' "$@" |
    cut -c -200 | head -60
}

finish() {
  if ((${#failed_logs[@]})); then
    printf '\n=== what failed tests said\n'
    what_failed_said "${failed_logs[@]}"
  fi
  printf '\n=== time of each step\n'
  printf '%s\n' "${times[@]}"
  printf '%5d s  in all\n' "$SECONDS"
  ((${#failures[@]} == 0)) || printf 'FAILED: %s\n' "${failures[@]}"
  ((${#failed_tests[@]} == 0)) || printf 'FAILED: %s\n' "${failed_tests[@]}"
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
  exit
}
