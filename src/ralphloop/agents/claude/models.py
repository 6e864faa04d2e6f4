"""What Claude models cost and how much they can hold, out of a dated table kept as data."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from ralphloop.agents.usage import Charge

    class Model(NamedTuple):
        """One model: US dollars per million tokens, and the tokens that fit into its window."""

        name: str
        input_usd: float
        output_usd: float
        cache_write_usd: float
        cache_write_1h_usd: float
        cache_read_usd: float
        window: int
        fast_times: float
        long_prompt_above: int
        long_prompt_times: float

else:
    # `typing` takes longer to import than a whole stop of the hook that may need a price.
    from collections import namedtuple

    Model = namedtuple(
        "Model",
        "name input_usd output_usd cache_write_usd cache_write_1h_usd cache_read_usd window"
        " fast_times long_prompt_above long_prompt_times",
    )

WIDE = 1_000_000  # the window that `[1m]` behind a model's name asks for
_PER = 1_000_000
_USUAL = {"fast_times": 1, "long_prompt_above": 0, "long_prompt_times": 1}

_table: dict[str, Any] = {}
_found: dict[str, Model | None] = {}


def prices_as_of() -> str:
    """The date of the table, as YYYY-MM-DD."""
    return str(_read()["as_of"])


def find(model: str) -> Model | None:
    """The model that this id means, whatever date, version, provider or window it is written with."""
    if model not in _found:
        if len(_found) > 100:
            _found.clear()
        _found[model] = _find(model)
    return _found[model]


def cost_usd(charge: Charge) -> float | None:
    """What a message cost at list price; None if its model is not in the table."""
    model = find(charge.model)
    if model is None:
        return None
    usd = (
        charge.input * model.input_usd
        + charge.output * model.output_usd
        + charge.cache_write * model.cache_write_usd
        + charge.cache_write_1h * model.cache_write_1h_usd
        + charge.cache_read * model.cache_read_usd
    )
    if charge.fast:
        usd *= model.fast_times
    if model.long_prompt_above and charge.prompt > model.long_prompt_above:
        usd *= model.long_prompt_times
    if charge.us_only:
        usd *= _read()["us_only_times"]
    return usd / _PER


def _find(model: str) -> Model | None:
    name = _plain(model)
    best: dict[str, Any] = {}
    for row in _read()["models"]:
        match = row["match"]
        if len(match) > len(best.get("match", "")) and _is_version_of(name, match):
            best = row
    if not best:
        return None
    fields = {**_USUAL, **best, "name": best["match"]}
    if model.lower().endswith("[1m]"):
        fields["window"] = WIDE
    del fields["match"]
    return Model(**fields)


def _plain(model: str) -> str:
    """The id without provider and region before it and without version and window behind it."""
    name = model.strip().lower().replace(".", "-")
    name = name[max(name.rfind("claude-"), 0) :]
    for mark in "@:[":
        name = name.partition(mark)[0]
    return name


def _is_version_of(name: str, match: str) -> bool:
    """Only a date or the like may follow: `claude-opus-4-9` is another model than `claude-opus-4`."""
    if not (name + "-").startswith(match + "-"):
        return False
    for piece in name[len(match) + 1 :].split("-"):
        is_date = len(piece) == 8 and piece.isdigit()
        is_version = piece[:1] == "v" and piece[1:].isdigit()
        if not (is_date or is_version or piece in ("", "0", "latest", "thinking")):
            return False
    return True


def _read() -> dict[str, Any]:
    if not _table:
        path = os.path.join(os.path.dirname(__file__), "models.json")
        with open(path, encoding="utf-8") as file:
            _table.update(jsontext.parse_object(file.read()))
    return _table
