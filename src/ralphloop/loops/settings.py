"""The settings of a project, for whoever acts on its loops."""

from __future__ import annotations

from collections.abc import Mapping

from ralphloop import config
from ralphloop.cli.errors import UserError


def loaded(root: str, env: Mapping[str, str]) -> config.Config:
    """The settings of this project; what is wrong with them says what to do."""
    try:
        return config.load(root, env)
    except config.ConfigError as error:
        raise UserError(str(error)) from None
