# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Mends the CMake exports of ROS 2 wheels.

They name the Python and NumPy include folders of the machine on which the wheel was built, and
CMake rejects an imported target with a folder that does not exist. A ROS 2 installed otherwise
names folders that exist and is left alone.
"""

import re
import sysconfig
from pathlib import Path

_INCLUDE_FOLDER = re.compile(r'(?<=[";])/[^";$]*/(?:python3\.\d+|numpy/_?core/include)(?=[";])')


def mend_exports(prefix: Path) -> None:
    """Point every CMake file of a prefix at Python headers that exist on this machine."""
    for path in prefix.glob('share/*/cmake/*.cmake'):
        text = path.read_text(encoding='utf-8', errors='surrogateescape')
        mended = _INCLUDE_FOLDER.sub(lambda match: _existing(match.group()), text)
        if mended != text:
            path.write_text(mended, encoding='utf-8', errors='surrogateescape')


def _existing(folder: str) -> str:
    """Return the folder, or what stands for it on this machine."""
    if Path(folder).is_dir():
        return folder
    if 'numpy' in folder:
        import numpy  # only where it is needed: a build environment may have none
        return numpy.get_include()
    return sysconfig.get_path('include')
