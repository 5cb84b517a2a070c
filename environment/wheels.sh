# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# ROS 2 from wheels, in a virtual environment inside the checkout.

distro=${PROEMLC_DISTRO:-jazzy}
case $distro in
  jazzy) venv=$root/.venv ;;
  kilted) venv=$root/.venv-$distro ;;
  *) fail "PROEMLC_DISTRO is '$distro'; jazzy and kilted are supported." ;;
esac
stamps=$venv/stamps
log=$venv/setup.log
lock=$venv.lock

packages_digest() { (cd "$root/requirements" && sha256sum "$1.txt" && echo "$venv"); }

is_set_up() {
  is_whole && made packages "$(packages_digest "$distro")" &&
    made build "$(build_digest)"
}

# set_up [EXTRA]: make the environment; EXTRA, a name in requirements/, asks for more packages.
set_up() {
  if ! is_set_up; then
    exclusively make_environment
  fi
  if [ -n "${1:-}" ] && ! has_extra "$1"; then
    exclusively add_extra "$1"
  fi
}

make_environment() {
  ! is_set_up || return 0  # another ./proemlc made it while this one waited
  check_machine
  if ! is_whole; then
    make_venv
  fi
  if ! made packages "$(packages_digest "$distro")"; then
    install_locked "$distro" "installing ROS 2 ${distro^} as wheels (once, a minute or two)"
    mark packages "$(packages_digest "$distro")"
  fi
  local digest
  digest=$(build_digest)  # before the build: what is edited meanwhile must be built again
  if ! made build "$digest"; then
    build_package
    mark build "$digest"
  fi
}

# has_extra EXTRA: whether its packages are installed; those of the tests include all others.
has_extra() {
  made "$1-packages" "$(packages_digest "$1")" || { [ "$1" != test ] && has_extra test; }
}

add_extra() {
  ! has_extra "$1" || return 0
  install_locked "$1" "installing the libraries of requirements/$1.txt (once)"
  mark "$1-packages" "$(packages_digest "$1")"
}

# try_extra EXTRA: add packages that a command is better with; go on where they cannot be had.
try_extra() {
  if [ -n "$1" ] && ! has_extra "$1"; then
    if ! PIP_RETRIES=1 exclusively add_extra "$1"; then
      # Until all is downloaded and checked, pip changes nothing.
      grep -q '^Installing collected packages' "$log" || rm -f "$stamps/installing"
      echo "proemlc: going on without the libraries of requirements/$1.txt" >&2
    fi
  fi
}

# Whether there is an environment that can be added to. Not if it was moved, if its Python is gone
# or another one is asked for, or if pip was interrupted: it would take half a package for a whole.
is_whole() {
  [ -x "$venv/bin/python" ] && made venv "$venv" && [ ! -e "$stamps/installing" ] &&
    { [ -z "${PROEMLC_PYTHON:-}" ] || made python "$(command -v "$PROEMLC_PYTHON")"; }
}

check_machine() {
  [ "$(uname -sm)" = 'Linux x86_64' ] ||
    fail "ROS 2 wheels exist for Linux on x86-64 only; here, install ROS 2 and source it first."
  command -v "${CXX:-c++}" > /dev/null ||
    fail 'no C++ compiler found; install one: sudo apt install build-essential'
  command -v make > /dev/null || command -v ninja > /dev/null ||
    fail 'no make found; install it: sudo apt install build-essential'
}

# Prints the first Python that the wheels support.
find_python() {
  local candidate
  for candidate in ${PROEMLC_PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python3.10}; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' \
        2> /dev/null; then
      command -v "$candidate"
      return
    fi
  done
  fail "no Python 3.10 to 3.14 found; install one (sudo apt install python3 python3-venv" \
    "python3-dev) or name it in PROEMLC_PYTHON."
}

make_venv() {
  local python
  python=$(find_python)
  "$python" -c 'import ensurepip, venv' 2> /dev/null ||
    fail "$python cannot make virtual environments; sudo apt install python3-venv"
  "$python" -c 'import os, sysconfig as s; os.stat(s.get_path("include") + "/Python.h")' \
    2> /dev/null || fail "$python has no C headers; sudo apt install python3-dev"
  rm -rf "$venv"
  mkdir "$venv" || fail "cannot write to $root; use a copy that you may write to."
  logged "making ${venv##*/} with $("$python" --version)" "$python" -m venv "$venv" ||
    fail "making the virtual environment failed: $(tail -n 1 "$log")"
  mark python "$python"
  mark venv "$venv"
}

# install_locked LOCK WHAT: install a lock file's wheels, each checked against its hash.
install_locked() {
  mark installing "$1"
  logged "$2" install_in_parts "$1" || explain_pip
  rm "$stamps/installing"
}

# install_in_parts LOCK: pip works on one processor. A lock file names every wheel, so that none waits for another:
# two processes take every second one each. Python compiles what is imported; compiling all of it here would take as
# long as unpacking it.
install_in_parts() {
  local part file processes=() failed=0
  for part in 0 1; do
    file=$venv/parts/$part/$1.txt
    mkdir -p "${file%/*}"
    awk -v part="$part" '/^[^ #]/ { entry++ } entry % 2 == part' "$root/requirements/$1.txt" > "$file"
    [ -s "$file" ] || continue
    "$venv/bin/python" -m pip install --no-deps --no-compile --require-hashes \
      --disable-pip-version-check --requirement "$file" &
    processes+=($!)
  done
  for part in "${processes[@]}"; do
    wait "$part" || failed=1
  done
  return "$failed"
}

explain_pip() {
  # Where pip reaches no index, it may say no more than that it knows no version at all.
  if grep -qE 'NewConnectionError|NameResolutionError|timed out|from versions: none' "$log"; then
    fail "the package index cannot be reached; check the network (or pip's proxy and index" \
      "settings), then run this again. Details: $log"
  fi
  fail "installing failed: $(grep -E '^ERROR' "$log" | tail -n 1) Details: $log"
}

build_package() {
  if ! command -v cmake > /dev/null && [ ! -x "$venv/bin/cmake" ]; then
    install_locked cmake 'installing CMake as a wheel, since there is none'
  fi
  (
    use_environment
    export PROEMLC_INTERFACES=python
    logged 'building the interfaces of msg/, srv/ and action/ (once, half a minute)' \
      python -m pip install --no-deps --no-build-isolation --disable-pip-version-check \
      --no-index --editable "$root"
  ) || fail "building failed: $(grep -E 'error:' "$log" | tail -n 1) Details: $log"
  # Launch and parameter files are used in place, like the Python files. `ros2 launch` looks into no
  # folder that is a link.
  local share=$venv/share/proemlc_ros
  rm -rf "$share/launch" "$share/config"
  mkdir "$share/launch"
  ln -s "$root"/launch/*.launch.py "$share/launch"
  ln -s "$root/config" "$share/config"
}

use_environment() {
  local libraries
  libraries=$(printf ':%s' "$venv"/lib/python3.*/site-packages/ros_*.libs)
  export PROEMLC_PREFIX=$venv VIRTUAL_ENV=$venv PATH="$venv/bin:$PATH"
  export ROS_VERSION=2 ROS_PYTHON_VERSION=3 ROS_DISTRO=$distro
  export AMENT_PREFIX_PATH=$venv CMAKE_PREFIX_PATH=$venv
  export RMW_IMPLEMENTATION=rmw_fastrtps_cpp  # the one that there are wheels of
  # Set here, the wheels need not start Python a second time to set it themselves.
  export LD_LIBRARY_PATH="$venv/lib$libraries" _ROS_WHEELS_BOOTSTRAP_COMPLETE=1
  unset PYTHONPATH PYTHONHOME
  keep_bytecode "$venv/bytecode"
}
