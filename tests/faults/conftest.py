"""Fixtures of the faults' tests: those of the hook's."""

from __future__ import annotations

from hook.conftest import any_project, features, project

__all__ = ["any_project", "features", "project"]
