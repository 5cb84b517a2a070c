# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The documentation builds as a site, strictly: no page left out, no link that leads nowhere."""

import shutil
import subprocess
import sys

import pytest
from pages import ROOT

pytest.importorskip('mkdocs', reason='mkdocs is not installed (pip install mkdocs)')


def build(configuration, site):
    return subprocess.run(
        [sys.executable, '-m', 'mkdocs', 'build', '--strict', '--config-file', configuration,
         '--site-dir', site], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@pytest.fixture
def copy(tmp_path):
    """Return a folder with all that the site is made from."""
    shutil.copytree(ROOT / 'docs', tmp_path / 'docs')
    for path in [ROOT / 'mkdocs.yml', *ROOT.glob('*.md')]:
        shutil.copy(path, tmp_path)
    return tmp_path


def test_the_site_has_every_page(tmp_path):
    done = build(ROOT / 'mkdocs.yml', tmp_path)
    assert done.returncode == 0, done.stdout
    for page in (ROOT / 'docs').rglob('*.md'):
        name = page.relative_to(ROOT / 'docs').with_suffix('')
        assert (tmp_path / ('.' if name.name == 'index' else name) / 'index.html').exists()
    readme = (tmp_path / 'readme/index.html').read_text(encoding='utf-8')
    assert 'src="../images/teaching.webp"' in readme
    assert (tmp_path / 'images/teaching.webp').stat().st_size < 4e6
    assert 'href="../contributing/"' in readme
    assert 'href="https://proemlc.example/proemlc_ros/repository/LICENSE"' in readme


@pytest.mark.parametrize('damage, complaint', [
    ('[gone](gone.md)', 'gone.md'),
    ('[gone](../gone.py)', 'gone.py'),
    ('[gone](index.md#gone)', '#gone')])
def test_a_link_that_leads_nowhere_fails(copy, damage, complaint):
    with open(copy / 'docs/concepts.md', 'a', encoding='utf-8') as page:
        page.write(f'\n{damage}\n')
    done = build(copy / 'mkdocs.yml', copy / 'site')
    assert done.returncode == 1 and complaint in done.stdout


def test_a_page_that_the_navigation_leaves_out_fails(copy):
    (copy / 'docs/extra.md').write_text('# Extra\n', encoding='utf-8')
    done = build(copy / 'mkdocs.yml', copy / 'site')
    assert done.returncode == 1 and 'extra.md' in done.stdout
