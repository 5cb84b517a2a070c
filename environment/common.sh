# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What ./proemlc does alike with wheels and with a sourced ROS 2.

# Prints a digest of everything that a change of needs a new build: the interfaces, what builds
# them, and which executables there are. Other source files are used in place.
build_digest() {
  (cd "$root" && {
    sha256sum msg/*.msg srv/*.srv action/*.action setup.py setup.cfg building/*.py package.xml
    find proemlc_ros -name '*.c' -exec sha256sum {} + 2> /dev/null || true
    ls proemlc_ros/cli/main.py proemlc_ros/nodes/*_node.py launch/*.launch.py 2> /dev/null || true
  } | sha256sum)
}

# made STEP DIGEST: whether a step of the set-up was finished with this digest.
made() { [ "$(cat "$stamps/$1" 2> /dev/null)" = "$2" ]; }

# mark STEP DIGEST: remember that a step is finished. Written last, so an interrupted step runs again.
mark() { mkdir -p "$stamps" && echo "$2" > "$stamps/$1"; }

# logged WHAT COMMAND...: say what is done, keep its output as the log, return the exit code.
logged() {
  echo "proemlc: $1" >&2
  shift
  "$@" > "$log" 2>&1
}

# exclusively FUNCTION ARGS...: run it while no other ./proemlc of this folder sets up.
exclusively() {
  { : >> "$lock"; } 2> /dev/null || fail "cannot write to $root; use a copy that you may write to."
  (
    flock --nonblock 9 || { echo "proemlc: waiting for another set-up to end" >&2; flock 9; }
    "$@"
  ) 9>> "$lock"
}

# keep_bytecode FOLDER: where Python is told to write no bytecode beside sources, as in many containers, keep it
# in FOLDER; else each process compiles all that it imports, which takes longer than the start of a node.
keep_bytecode() {
  [ -n "${PYTHONDONTWRITEBYTECODE:-}" ] || return 0
  unset PYTHONDONTWRITEBYTECODE
  export PYTHONPYCACHEPREFIX=${PYTHONPYCACHEPREFIX:-$1}
}

open_shell() {
  # The user's own start-up file may put other Pythons first, so the path is set after it.
  # shellcheck disable=SC2016  # for the new shell to expand
  exec bash --rcfile <(
    echo '[ -f ~/.bashrc ] && . ~/.bashrc'
    echo "PATH=$(printf %q "$PATH")"
    echo 'PS1="(proemlc) $PS1"')
}

# is_partial ARGS...: whether the arguments pick tests, so that there is no coverage to speak of.
is_partial() {
  local argument
  for argument in "$@"; do
    case $argument in
      -k* | --lf | --last-failed | --pdb) return 0 ;;
      -*) ;;
      *) [ ! -e "${argument%%::*}" ] || return 0 ;;
    esac
  done
  return 1
}

# extra_of COMMAND: print which packages a command needs beyond the runtime's, if any.
extra_of() {
  case $1 in
    paper) echo experiments ;;
  esac
}

# wish_of COMMAND: print which packages a command is better with, though it does without them.
wish_of() {
  case $1 in
    demo | teach | backbone) echo backbone ;;
  esac
}

# gate TITLE COMMAND...: run one quality gate; a sourced ROS 2 may come without its tool.
gate() {
  echo "== $1" >&2
  shift
  if command -v "$1" > /dev/null; then
    "$@" || exit $?
  else
    echo "skipped: $1 is not installed" >&2
  fi
}

LINTERS=(ruff mypy shellcheck manifest schemas)

# run_linters [NAME...]: run these linters, or all. pre-commit has a hook for each name.
run_linters() {
  cd "$root"
  [ $# -gt 0 ] || set -- "${LINTERS[@]}"
  local name
  for name in "$@"; do
    case $name in
      ruff) gate 'ruff: style' ruff check . ;;
      mypy) gate 'mypy: types' mypy ;;
      shellcheck) gate 'shellcheck: scripts' shellcheck --external-sources \
        --check-sourced proemlc .ci/run requirements/lock ;;
      manifest) gate 'catkin_pkg: package.xml' python3 -c \
        'from catkin_pkg.package import parse_package as parse; parse("package.xml").validate()' ;;
      schemas) check_schemas ;;
      *) fail "there is no linter '$name'; there are: ${LINTERS[*]}" ;;
    esac
  done
}

check_schemas() {
  local check=(check-jsonschema --quiet --builtin-schema)
  gate 'check-jsonschema: workflow' "${check[@]}" vendor.github-workflows .github/workflows/*.yml
  gate 'check-jsonschema: issue forms' "${check[@]}" vendor.github-issue-forms \
    .github/ISSUE_TEMPLATE/{bug_report,feature_request}.yml
  gate 'check-jsonschema: citation' "${check[@]}" vendor.citation-file-format CITATION.cff
}

has_module() { python3 -c "import $1" 2> /dev/null; }

# counts_lines ARGS...: whether the tests count the lines that they reach: where asked to (--cov), and where Python does it at
# little cost. Before 3.12 it traces every instruction, which doubles the processor time of the whole suite.
counts_lines() {
  has_module pytest_cov || return 1
  if python3 -c 'import sys; sys.exit(not hasattr(sys, "monitoring"))'; then
    export COVERAGE_CORE=sysmon
    return
  fi
  case " $* " in
    *' --cov '*) return 0 ;;
    *) return 1 ;;
  esac
}

run_tests() {
  cd "$root"
  export OPENBLAS_NUM_THREADS=1  # threads of one test would slow the processes of others down
  if is_partial "$@"; then
    exec python3 -m pytest "$@"
  fi
  # The linters run beside the tests, much of whose time is waiting; what they found comes last.
  local options=() failed=0 counted='' linters found
  found=$(mktemp)
  run_linters > "$found" 2>&1 &
  linters=$!
  # Half as many again as there are processors: tests over ROS wait for a good part of their time.
  # A crashed process ends the run; with another one in its place pytest-xdist would wait for ever.
  ! has_module xdist ||
    options+=(--numprocesses=$(($(nproc) * 3 / 2)) --dist=loadfile --no-loadscope-reorder
      --max-worker-restart=0)
  # In seconds; the longest test takes a tenth of it on a quiet machine.
  ! has_module pytest_timeout || options+=(--timeout=600)
  ! counts_lines "$@" || counted=yes
  [ -z "$counted" ] || options+=(--cov --cov-report=term)
  (gate 'pytest: tests, doctests' python3 -m pytest "${options[@]}" "$@") || failed=$?
  [ -z "$counted" ] || (gate 'coverage of the learner, in percent' \
    coverage report --include='proemlc_ros/core/*' --format=total --fail-under=95) || failed=$?
  wait "$linters" || failed=$?
  cat "$found" >&2
  rm "$found"
  return "$failed"
}
