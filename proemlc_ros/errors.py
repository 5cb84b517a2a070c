# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Every error that a user of the package can meet, by name."""


class ProEMLCError(Exception):
    """Base of all errors of this package; its text says what was wrong and what to do."""


class DataSetError(ProEMLCError):
    """A data set file is missing, damaged or not understood; names the file and the line."""


class BagError(ProEMLCError):
    """A recording is missing, damaged or lacks what is needed; names the bag."""


class BadSensorDataError(ProEMLCError):
    """A sensor message that cannot become features; `cause` is a short key to count it by."""

    def __init__(self, cause: str, text: str) -> None:
        super().__init__(text)
        self.cause = cause


class ExtractorError(ProEMLCError):
    """A feature extractor that is not known, or that cannot work with the given parameters."""


class MissingDependencyError(ProEMLCError):
    """An optional library that the chosen function needs is not installed."""
