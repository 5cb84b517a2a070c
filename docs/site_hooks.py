# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What mkdocs.yml adds to docs/: the pages of the root folder, and links into the repository.

A page of the repository links to files as they lie there, so that links work where the repository
is shown. The site has only pages and pictures: every other file is linked at `repo_url`.
"""

import os
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
# Their names in the site: a README.md would become its index, and security.md is another page.
ROOT_PAGES = {'README.md': 'readme.md', 'CONTRIBUTING.md': 'contributing.md',
              'SECURITY.md': 'security_policy.md',
              'QUALITY_DECLARATION.md': 'quality_declaration.md'}
_LINK = re.compile(r'(?<=\]\()(?!\w+:|#)([^)\s#]+)')


def on_files(files, config):
    """Add the pages of the root folder."""
    for source, name in ROOT_PAGES.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Point each link at a page of the site, or else at the repository."""
    folder = Path(page.file.abs_src_path).resolve().parent
    here = Path(page.file.src_uri).parent

    def target(match):
        path = Path(os.path.normpath(folder / match[1]))
        name = _site_path(path)
        if files.get_file_from_path(name):
            return os.path.relpath(name, here)
        if path.exists():  # else it stays, and a strict build fails
            return f'{config.repo_url}/{path.relative_to(ROOT).as_posix()}'
        return match[1]

    return _LINK.sub(target, markdown)


def _site_path(path):
    """Return the name that a file of the repository has, or would have, in the site."""
    name = path.relative_to(ROOT).as_posix()
    return ROOT_PAGES.get(name, name.removeprefix('docs/'))
