# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is asked in words: file names, new names, the filter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proemlc_ros.operator.terminal.prompt import Prompt

if TYPE_CHECKING:
    from proemlc_ros.operator.terminal.console import Console


def ask_save(console: Console) -> Prompt:
    """Ask where to save the model."""
    return Prompt('save as (empty: the snapshot of the node): ', lambda name: console.orders.order(
        'saving', console.actions.save(console.desk.annotator, name)))


def ask_load(console: Console) -> Prompt:
    """Ask which model to load."""
    return Prompt('load (takes the place of what the robot knows; Esc: no): ',
                  lambda name: console.orders.order(
                      'loading', console.actions.load(console.desk.annotator, name)))


def ask_rename(console: Console) -> Prompt:
    """Ask which label gets another name, then which."""

    def ask_new_name(name: str) -> None:
        if name:
            console.prompt = Prompt(f'{name} becomes: ', lambda new_name: console.orders.order(
                'renaming', console.actions.rename(console.desk.annotator, name, new_name)),
                text=name)

    return Prompt('rename label: ', ask_new_name, console.robot.labels.names)


def ask_remove(console: Console) -> Prompt:
    """Ask which label to forget."""

    def remove(name: str) -> None:
        if name:
            console.orders.order('removing', console.actions.remove(console.desk.annotator, name))

    return Prompt('remove label (forgets it for good; Esc: no): ', remove,
                  console.robot.labels.names)


def ask_filter(console: Console) -> Prompt:
    """Ask for a part of the labels' names; the list follows while it is typed."""
    labels = console.labels
    return Prompt('filter: ', labels.narrow, text=labels.filter, changed=labels.narrow)


QUESTIONS = {'s': ask_save, 'l': ask_load, 'r': ask_rename, 'd': ask_remove, '/': ask_filter}
