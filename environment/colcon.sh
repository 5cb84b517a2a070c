# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A sourced ROS 2: the package is built with colcon, into a workspace inside the checkout, with
# links to the source files, and everything else is the machine's own.

workspace=$root/build/$ROS_DISTRO
stamps=$workspace/stamps
log=$workspace/setup.log
lock=$root/.venv.lock

is_set_up() { made build "$(build_digest) $AMENT_PREFIX_PATH"; }

# set_up [EXTRA]: build; what EXTRA needs is the machine's own, and only the tests' is looked for.
set_up() {
  command -v colcon > /dev/null ||
    fail "ROS 2 $ROS_DISTRO is sourced, but there is no colcon; install it (sudo apt install" \
      "python3-colcon-common-extensions), or ask for wheels with PROEMLC_DISTRO=jazzy."
  local module
  for module in numpy scipy rosbags yaml; do
    python3 -c "import importlib.util as u, sys; sys.exit(u.find_spec('$module') is None)" ||
      fail "Python has no $module; install it: rosdep install --from-paths '$root'"
  done
  if [ "${1:-}" = test ] && ! python3 -c 'import pytest' 2> /dev/null; then
    fail 'Python has no pytest; install it: sudo apt install python3-pytest'
  fi
  is_set_up || exclusively build_with_colcon
}

# try_extra EXTRA: nothing to do, since the machine's own libraries are used: OpenCV runs networks, too.
try_extra() { :; }

build_with_colcon() {
  ! is_set_up || return 0
  local digest
  digest="$(build_digest) $AMENT_PREFIX_PATH"
  mkdir -p "$workspace"
  logged "building with colcon for ROS 2 $ROS_DISTRO" colcon --log-base "$workspace/log" build \
    --symlink-install --base-paths "$root" --packages-select proemlc_ros \
    --build-base "$workspace/build" --install-base "$workspace/install" ||
    fail "colcon build failed: $(grep -E 'error:' "$log" | tail -n 1) Details: $log"
  mark build "$digest"
}

use_environment() {
  set +u  # the set-up files read variables that are not set
  # shellcheck disable=SC1091
  source "$workspace/install/local_setup.bash"
  set -u
  export PROEMLC_PREFIX=$workspace/install/proemlc_ros
  PATH=$PROEMLC_PREFIX/lib/proemlc_ros:$PATH
  keep_bytecode "$workspace/bytecode"
}
