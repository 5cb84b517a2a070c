# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Values of a pickle that holds tensors, read without calling anything that it names.

An ordinary unpickler imports and calls what the file says, which is to run a stranger's program.
Here the opcodes are followed one by one, and two names alone mean anything: an ordered dictionary
and a tensor, whose parts are kept as plain records.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from typing import IO, Any, NamedTuple

from proemlc_ros.errors import BackboneError

# A network of a thousand layers takes about 100,000.
MOST_OPCODES = 300_000


class GlobalName(NamedTuple):
    """A name that the pickle wants imported; it stays a name."""

    name: str


class StorageReference(NamedTuple):
    """A run of numbers that follows the pickles: key and number of values, and their type."""

    key: str
    type_name: str
    length: int


class TensorRecord(NamedTuple):
    """A view of a storage, all of it as the file states it and not yet checked."""

    storage: Any
    offset: Any
    size: Any
    stride: Any


class _Mark(NamedTuple):
    """Where on the stack a group begins."""


_MARK = _Mark()
_CONSTANTS: dict[str, Any] = {'NONE': None, 'NEWTRUE': True, 'NEWFALSE': False}
_NUMBERS_AND_TEXT = {'BININT', 'BININT1', 'BININT2', 'LONG1', 'BINUNICODE'}
_CONTAINERS: dict[str, Callable[[], Any]] = {
    'EMPTY_DICT': dict, 'EMPTY_LIST': list, 'EMPTY_TUPLE': tuple}
_TUPLES = {'TUPLE1': 1, 'TUPLE2': 2, 'TUPLE3': 3}


def read_pickle(file: IO[bytes]) -> Any:
    """Return the value of the pickle that begins at the file's position, and go behind it.

    Raises:
        BackboneError: truncated, damaged, or with anything but numbers, text and tensors.

    """
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(file)):
            if count > MOST_OPCODES:
                raise BackboneError('the file has more pickle opcodes than any network needs')
            if opcode.name == 'STOP':
                return stack.pop()
            _follow(opcode.name, argument, stack, memo)
    except BackboneError:
        raise
    except Exception as error:  # whatever a damaged stack of values leads to
        raise BackboneError(f'the file is truncated or damaged: {error!r}') from error
    raise BackboneError('the file is truncated: a pickle without an end')


def _follow(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    if name in _NUMBERS_AND_TEXT:
        stack.append(argument)
    elif name in _CONSTANTS:
        stack.append(_CONSTANTS[name])
    elif name in _CONTAINERS:
        stack.append(_CONTAINERS[name]())
    elif name in ('BINPUT', 'LONG_BINPUT'):
        memo[argument] = stack[-1]
    elif name in ('BINGET', 'LONG_BINGET'):
        stack.append(memo[argument])
    elif name == 'MARK':
        stack.append(_MARK)
    elif name == 'GLOBAL':
        stack.append(GlobalName(argument))
    elif name in _TUPLES:
        parts = [stack.pop() for _ in range(_TUPLES[name])]
        stack.append(tuple(reversed(parts)))
    elif name != 'PROTO':
        _combine(name, stack)


def _combine(name: str, stack: list[Any]) -> None:
    if name == 'TUPLE':
        stack.append(tuple(_group(stack)))
    elif name == 'BINPERSID':
        stack.append(_storage(stack.pop()))
    elif name == 'REDUCE':
        arguments = stack.pop()
        stack.append(_made(stack.pop(), arguments))
    elif name == 'BUILD':
        stack.pop()  # attributes of an object; dictionaries and tensors need none
    elif name in ('SETITEM', 'SETITEMS'):
        group = _group(stack) if name == 'SETITEMS' else [stack.pop(), stack.pop()][::-1]
        # Text alone: tuples of tuples take for ever to be hashed.
        names = [_as(str, name) for name in group[::2]]
        _as(dict, stack[-1]).update(zip(names, group[1::2], strict=True))
    elif name in ('APPEND', 'APPENDS'):
        group = _group(stack) if name == 'APPENDS' else [stack.pop()]
        _as(list, stack[-1]).extend(group)
    else:
        raise BackboneError(f'the file has the pickle opcode {name}, which tensors do not need')


def _group(stack: list[Any]) -> list[Any]:
    place = len(stack) - 1
    while stack[place] is not _MARK:  # runs off the stack where there is none, and raises
        place -= 1
    group = stack[place + 1:]
    del stack[place:]
    return group


def _made(called: Any, arguments: Any) -> Any:
    if called == GlobalName('collections OrderedDict') and arguments == ():
        return {}
    if called == GlobalName('torch._utils _rebuild_tensor_v2') and len(arguments) >= 4:
        return TensorRecord(*arguments[:4])
    # Only a name is shown: tuples of tuples would be written out for ever.
    what = called.name[:100] if type(called) is GlobalName else type(called).__name__
    raise BackboneError(f'the file wants {what!r} called, which tensors do not need')


def _storage(identity: Any) -> StorageReference:
    kind, type_name, key, _, count, view = identity
    if kind != 'storage' or view is not None or type(key) is not str or type(count) is not int:
        raise BackboneError('the file refers to something other than stored numbers')
    return StorageReference(key, _as(GlobalName, type_name).name, count)


def _as(kind: type[Any], value: Any) -> Any:
    if type(value) is not kind:
        raise BackboneError(f'the file has a {type(value).__name__} in place of a {kind.__name__}')
    return value
