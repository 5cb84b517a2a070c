# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The dashboard node: a web page to teach from."""

from __future__ import annotations

import asyncio
import itertools
import os
import ssl
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from proemlc_ros.errors import ParameterError, ProEMLCError
from proemlc_ros.nodes.operator.operator_node import CLASSIFIER, OperatorNode
from proemlc_ros.nodes.parameters import Declared, help_text, help_wanted
from proemlc_ros.nodes.process import Signals, run_program, spinning, watched
from proemlc_ros.operator.actions import learn_truth, retire_sure
from proemlc_ros.operator.classifier_view import ViewPart
from proemlc_ros.operator.recent import CameraPicture, PictureCache
from proemlc_ros.operator.saved_view import SavedView
from proemlc_ros.operator.web.guard import Access, is_loopback
from proemlc_ros.operator.web.server import Dashboard, PageSettings
from proemlc_ros.records import LabelState

PARAMETERS = (
    Declared('address', '127.0.0.1', 'address to listen at; beyond loopback it needs a token'),
    Declared('port', 8642, 'TCP port to listen at; 0: any free one', 0, 65535),
    Declared('token_file', '', 'file with the token that opens the page; empty: $PROEMLC_TOKEN'),
    Declared('allowed_hosts', '', 'further host names of the page, separated by commas'),
    Declared('tls_certificate', '', 'PEM file of the certificate, for https; empty: http'),
    Declared('tls_key', '', 'PEM file with the key of tls_certificate'),
    Declared('session_hours', 12.0, 'hours until a browser must present the token again', 0.01,
             8760),
    Declared('max_pages', 32, 'open pages, at most', 1, 1000),
    Declared('max_connections', 128, 'open connections besides pages, at most', 8, 10000),
    Declared('max_client_connections', 32, 'open connections of one client address, at most', 4,
             10000),
    Declared('request_timeout', 15.0, 'seconds that a whole request may take', 1, 600),
    Declared('page_rate', 20.0, 'updates per second of each page', 1, 60),
    Declared('image_topic', '', 'topic of the camera; empty: the one of the features'),
    Declared('picture_tolerance', 0.0, 'largest difference between the stamps of picture and '
             'prediction, seconds; above 0 only for features of another sensor', 0.0, 3600.0),
    Declared('picture_rate', 15.0, 'pictures per second on the page', 0.1, 60),
    Declared('regions_topic', 'features/regions',
             'topic of boxes drawn on the page, for the feature node'),
    Declared('picture_size', 640, 'longest side of a picture in pixels', 64, 4096),
    Declared('burst_rate', 10.0, "samples per second while a label's key is held down", 0.5, 30),
    Declared('near_copy', 0.02, 'distance below which a sample of a burst is a near copy and left '
             'out, relative to the length of the vector; 0: identical ones only', 0, 1),
    Declared('model_directory', '', 'model directory of the classifier, where it is on this '
             'machine: the page downloads and uploads model files; empty: it does not'),
    Declared('state_file', '', 'file in which queries, activity and curve outlive a restart; '
             'empty: one in $ROS_HOME, by the name of the classifier; none: no file'),
)

# Seconds between two writings of the state file.
SAVE_PERIOD = 5
NOT_ENCRYPTED = (
    'THE PAGE IS NOT ENCRYPTED, and other machines can reach it: whoever listens on the network '
    'can read the token and the pictures, and then teach, rename, remove and load. Set '
    'tls_certificate and tls_key, or use address 127.0.0.1 and ssh -L.')


class DashboardNode(OperatorNode):
    """Serves the page. Made inside a running asyncio loop."""

    def __init__(self, **node_options: Any) -> None:
        """Read the parameters.

        Raises:
            ParameterError: the page would be open to strangers, or a file cannot be read.
        """
        super().__init__('dashboard', PARAMETERS, **node_options)
        settings = self.settings
        self.pictures = PictureCache()
        self.client.enable_drawing(settings.regions_topic)
        self.tls = _tls_context(settings.tls_certificate, settings.tls_key)
        hosts = tuple(name.strip() for name in settings.allowed_hosts.split(',') if name.strip())
        self.dashboard = Dashboard(
            self.view, self.pictures, self.actions, self.classifier, PageSettings(
                Access(settings.address, _token_of(settings.token_file), hosts),
                port=settings.port, max_pages=settings.max_pages, max_rate=settings.page_rate,
                session=3600 * settings.session_hours,
                max_connections=settings.max_connections,
                max_client_connections=settings.max_client_connections,
                request_timeout=settings.request_timeout, burst_rate=settings.burst_rate,
                near_copy=settings.near_copy,
                model_directory=Path(settings.model_directory).expanduser()
                if settings.model_directory else None), self.warnings.log)
        self.saved = _saved_view(self)
        self.watch_camera(settings.picture_rate, settings.picture_size, self._on_picture,
                          settings.picture_tolerance)

    def _on_picture(self, picture: CameraPicture) -> None:
        self.pictures.add(picture)
        if self.view.prediction is None:
            self.dashboard.changed(ViewPart.PICTURE)
        if picture.stamp in self.view.predictions:  # Which came first, this time.
            self.dashboard.changed(ViewPart.PREDICTION)

    async def open(self) -> None:
        """Start to serve, and log the address; warn where others could listen.

        Raises:
            ParameterError: address and port cannot be used.
        """
        address = self.settings.address
        try:
            port = await self.dashboard.start(self.tls)
        except OSError as error:
            raise ParameterError(
                f'address {address} and port {self.settings.port} cannot be used '
                f'({error.strerror}); choose another port, 0 for any free one') from error
        shown = f'[{address}]' if ':' in address else address
        self.get_logger().info(f'Dashboard: http{"s" if self.tls else ""}://{shown}:{port}/')
        if self.tls is None and not is_loopback(address):
            self.get_logger().warning(NOT_ENCRYPTED)

    async def keep(self) -> None:
        """Keep what outlives a restart, drop settled queries, tell how good the model is."""
        reviewed, before = -1, self.view.labels
        judged = LabelState()
        for second in itertools.count(1):
            await asyncio.sleep(1.0)
            labels = self.view.labels
            if labels.samples != reviewed and len(self.view.queries):
                reviewed = labels.samples
                await self._ask(retire_sure(self.view, self.actions))
            if labels == before != judged:  # Not while somebody records.
                judged = labels
                await self._ask(learn_truth(self.view, self.actions))
            before = labels
            if second % SAVE_PERIOD == 0:
                self.save()

    async def _ask(self, question: Awaitable[None]) -> None:
        try:
            await question
        except ProEMLCError:
            pass  # The classifier has gone; it is asked again after the next sample.

    def save(self) -> None:
        """Write the file of the view; a disk that is full does not stop the page."""
        try:
            if self.saved is not None:
                self.saved.save()
        except OSError as error:
            self.warnings.log('state file', f'The state file cannot be written: {error}')


def _saved_view(node: DashboardNode) -> SavedView | None:
    """Return what keeps the view of a node, with the view of the last run read; None: nothing."""
    name = node.settings.state_file
    if name == 'none':
        return None
    home = Path(os.environ.get('ROS_HOME') or Path.home() / '.ros')
    file_name = f'dashboard{node.classifier.replace("/", ".")}.json'
    saved = SavedView(Path(name) if name else home / 'proemlc_ros' / file_name, node.view,
                      node.pictures)
    try:
        saved.load()
    except (OSError, ValueError, TypeError, LookupError) as error:
        node.get_logger().warning(
            f'cannot read state_file; queries, activity and curve start empty: {error}')
    return saved


def _token_of(token_file: str) -> str:
    """Return the token; it is not a parameter itself, since anybody may read parameters."""
    if not token_file:
        return os.environ.get('PROEMLC_TOKEN', '').strip()
    try:
        return Path(token_file).read_text(encoding='utf-8').strip()
    except OSError as error:
        raise ParameterError(
            f'token_file {token_file!r} cannot be read: {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise ParameterError(
            f'token_file {token_file!r} cannot be read: it is not text in UTF-8') from error


def _tls_context(certificate: str, key: str) -> ssl.SSLContext | None:
    """Return what https needs, or None for plain http."""
    if not certificate:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key or None)
    except OSError as error:
        raise ParameterError(f'tls_certificate {certificate!r}: {error}') from error
    return context


async def serve(signals: Signals) -> bool:
    """Serve the page until a signal comes."""
    node = DashboardNode()
    try:
        with watched(node), spinning(node, signals):
            await node.open()
            keeper = asyncio.create_task(node.keep())
            try:
                await signals.wait_async()
            finally:
                keeper.cancel()
                node.save()
                await node.dashboard.stop()
    finally:
        node.destroy_node()
    return True


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal comes."""
    if help_wanted(args):
        print(help_text('Serves the web page on which operators teach a classifier.',
                        (CLASSIFIER, *PARAMETERS)))
        return 0
    return run_program(lambda signals: asyncio.run(serve(signals)), args)


if __name__ == '__main__':
    sys.exit(main())
