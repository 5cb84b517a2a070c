# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A report page: headings, tables, figures and images in one HTML file without any link out."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path

from proemlc_ros.files import replace_text

_STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{margin-bottom:0}.note{color:#777;margin-top:.2rem}figure{margin:1.5rem 0}
svg{width:100%;height:auto}
figcaption{font-size:.9rem;color:#777}.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .75rem;border-bottom:1px solid #8884;text-align:right}
th:first-child,td:first-child{text-align:left}th{border-bottom:2px solid #888}
.images{display:flex;flex-wrap:wrap;gap:1rem}.images figure{margin:0;width:10rem}
.images img{width:100%;image-rendering:pixelated}
"""


class Page:
    """A report under construction; all text given to it is shown as plain text.

    Args:
        title: Title of the report.
        note: A line below it, such as date and version.

    >>> page = Page('A run')
    >>> page.table(['label', 'F1'], [['cup <b>', 0.5]])
    >>> 'cup &lt;b&gt;' in page.html()
    True

    """

    def __init__(self, title: str, note: str = '') -> None:
        """Start a report."""
        self._title = title
        self._parts = [f'<h1>{escape(title)}</h1><p class="note">{escape(note)}</p>']

    def heading(self, words: str) -> None:
        """Add a heading."""
        self._parts.append(f'<h2>{escape(words)}</h2>')

    def paragraph(self, words: str) -> None:
        """Add a paragraph."""
        self._parts.append(f'<p>{escape(words)}</p>')

    def table(self, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Add a table; floats are shown with four digits."""
        head = ''.join(f'<th scope="col">{escape(word)}</th>' for word in header)
        body = ''.join(
            '<tr>' + ''.join(f'<td>{escape(_cell(value))}</td>' for value in row) + '</tr>'
            for row in rows
        )
        self._parts.append(
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
            f'<tbody>{body}</tbody></table></div>')

    def figure(self, svg: str, caption: str = '') -> None:
        """Add a chart, as the chart functions return it."""
        self._parts.append(
            f'<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>')

    def images(self, images: Sequence[tuple[bytes, str]]) -> None:
        """Add a row of PNG images, each with its caption."""
        figures = ''.join(
            f'<figure><img alt="{escape(caption, quote=True)}" '
            f'src="data:image/png;base64,{b64encode(png).decode()}">'
            f'<figcaption>{escape(caption)}</figcaption></figure>'
            for png, caption in images
        )
        self._parts.append(f'<div class="images">{figures}</div>')

    def html(self) -> str:
        """Return the page."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width">'
            f'<title>{escape(self._title)}</title><style>{_STYLE}</style></head>\n<body>'
            + '\n'.join(self._parts) + '</body></html>\n'
        )

    def write(self, path: Path) -> None:
        """Write the page to a file, as a whole or not at all."""
        replace_text(path, self.html())


def _cell(value: object) -> str:
    return f'{value:.4f}' if isinstance(value, float) else str(value)
