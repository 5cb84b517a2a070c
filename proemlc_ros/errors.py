# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Every error that a user of the package can meet, by name."""


class ProEMLCError(Exception):
    """Base of all errors of this package; its text says what was wrong and what to do."""


class DataSetError(ProEMLCError):
    """A data set file is missing, damaged or not understood; names the file and the line."""


class BagError(ProEMLCError):
    """A bag is missing, damaged or lacks what is needed; names the bag."""


class BadSensorDataError(ProEMLCError):
    """A sensor message that cannot become features; `cause` is a short key to count it by."""

    def __init__(self, cause: str, text: str) -> None:
        super().__init__(text)
        self.cause = cause


class ExtractorError(ProEMLCError):
    """A feature extractor that is not known, or that cannot work with the given parameters."""


class BackboneError(ProEMLCError):
    """A pretrained network that is not known, damaged, not installed, or not to be trusted."""


class MissingDependencyError(ProEMLCError):
    """An optional library that the chosen function needs is not installed."""


class RejectedError(ProEMLCError):
    """A message that the classifier rejects; `cause` is a short key to count it by."""

    def __init__(self, cause: str, text: str) -> None:
        super().__init__(text)
        self.cause = cause


class VectorRejectedError(RejectedError):
    """A feature vector of wrong width, with NaN or infinity, empty, oversized, or foreign."""


class LabelRejectedError(RejectedError):
    """Label names that are no usable text, or too many of them."""


class TextRejectedError(RejectedError):
    """Text that is too long or has characters that do not show, such as an annotator's name."""


class UnmatchedAnnotationError(RejectedError):
    """An annotation whose stamp no buffered feature vector has."""


class RateExceededError(RejectedError):
    """More messages per second than the classifier may take."""


class NotActiveError(RejectedError):
    """A message or request that came while the node is not active."""

    def __init__(self) -> None:
        super().__init__('not_active', 'the classifier is not active; activate it first')


class JournalError(ProEMLCError):
    """The journal cannot be written or read; nothing was learnt from what could not be written."""


class ModelDirectoryError(ProEMLCError):
    """A model directory that cannot be used, or a file name that does not belong in it."""


class RenewalError(ProEMLCError):
    """The model cannot be renewed; it stays as it is."""


class OutdatedRenewalError(RenewalError):
    """Changes were made meanwhile that a renewed model cannot follow."""


class WorkCancelledError(ProEMLCError):
    """Work was given up before it changed anything: the node shuts down, or somebody asked so."""


class UndoError(ProEMLCError):
    """There is no annotation left that can be taken back."""


class ParameterError(ProEMLCError, ValueError):
    """A parameter's value that is not allowed; names the parameter, the value and the range."""


class InputError(ProEMLCError, ValueError):
    """Feature values that cannot be used."""


class WidthError(InputError):
    """A feature vector has another length than those before it."""


class NotFiniteError(InputError):
    """Feature values contain NaN or infinity."""


class TooLargeError(InputError):
    """Feature values are finite, but too large for the arithmetic."""


class EmptyInputError(InputError):
    """There are no feature values, or no samples."""


class LengthMismatchError(InputError):
    """There is not one annotation for each sample."""


class LabelError(ProEMLCError, ValueError):
    """A label name, or a collection of them, that cannot be used."""


class LabelExistsError(LabelError):
    """A label cannot get a name that another one has."""


class UnknownLabelError(ProEMLCError, KeyError):
    """A label that the model does not know."""

    # KeyError would show the repr of the text.
    __str__ = Exception.__str__


class UnlearnError(ProEMLCError, ValueError):
    """A sample cannot be unlearnt; the model is unchanged."""


class NeverLearntError(UnlearnError):
    """The sample to unlearn was never learnt."""


class DefinitenessError(UnlearnError):
    """Unlearning would leave a matrix that is no longer positive definite."""


class SampleError(ProEMLCError, ValueError):
    """A learnt sample that is asked for is not there, or cannot be changed."""


class InitialBlockError(ProEMLCError, ValueError):
    """A model without ridge must learn an initial block first."""


class NotReadyError(ProEMLCError, ValueError):
    """The model has not learnt enough for the call."""


class MergeError(ProEMLCError, ValueError):
    """Two models cannot be merged."""


class HiddenLayerMismatchError(MergeError):
    """Two models have different hidden layers, so their weights have nothing in common."""


class ModelFileError(ProEMLCError, ValueError):
    """A model file cannot be used; the running model is unchanged."""


class ForeignModelError(ModelFileError):
    """The file is not a model of this package."""


class CorruptModelError(ModelFileError):
    """The model file is cut or altered."""


class NewerModelError(ModelFileError):
    """The model file was written by a newer version of the package."""


class ModelTooLargeError(ModelFileError):
    """The model file is larger than allowed."""


class SignatureError(ModelFileError):
    """The model file is not signed with the key, but must be."""


class IntroductionError(ProEMLCError, ValueError):
    """A label introduction pattern that is no pattern, or does not fit the data set."""


class OperatorRequestError(ProEMLCError):
    """A request of an operator that is not understood or not possible now; nothing was done."""


class ClassifierUnavailableError(ProEMLCError):
    """The classifier does not answer; says whether the request may have been done."""


class NoAnswerError(ClassifierUnavailableError):
    """The classifier went away after it got the request, which may have been done."""


class TrainingError(ProEMLCError):
    """Training on bags cannot be done as asked."""


class DemoError(ProEMLCError):
    """The demonstration could not run to its end; names the process and its log file."""


def cause_of(error: BaseException) -> str:
    """Return a short key to count an error by."""
    if isinstance(error, RejectedError):
        return error.cause
    name = type(error).__name__.removesuffix('Error')
    return ''.join(f'_{c.lower()}' if c.isupper() else c for c in name).lstrip('_')


def text_of(error: BaseException) -> str:
    """Return an error's text; that of a KeyError would come in quotes."""
    return str(error.args[0]) if error.args else type(error).__name__
