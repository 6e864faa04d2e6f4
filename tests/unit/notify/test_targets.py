"""The table of targets: each has a module that sends, and what it needs is a setting."""

from __future__ import annotations

import importlib

import pytest

from ralphloop.config import KEYS, TARGETS
from ralphloop.config.keys import WEBHOOK_FORMATS
from ralphloop.notify import webhook


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_sends_by_the_module_of_its_name(name: str) -> None:
    assert callable(importlib.import_module(f"ralphloop.notify.{name}").send)


@pytest.mark.parametrize("name", TARGETS)
def test_what_a_target_needs_is_a_setting_and_then_not_a_projects(name: str) -> None:
    needs = TARGETS[name].needs
    assert not needs or not (KEYS[needs].by_project or TARGETS[name].by_project)


def test_every_format_of_a_webhook_has_its_shape() -> None:
    assert tuple(webhook.SHAPES) == WEBHOOK_FORMATS
