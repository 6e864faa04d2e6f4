"""What a misspelt word was meant to be: a command, an option, a loop, a task, a setting."""

from __future__ import annotations

from collections.abc import Iterable


def near(said: object, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6) -> list[str]:
    """The known words that are most like it, best first; capitals and dashes make no difference."""
    import difflib  # only after a mistake

    forms = {_form(name): name for name in known}
    found = difflib.get_close_matches(_form(str(said)[:200]), forms, n=most, cutoff=cutoff)
    return [forms[form] for form in found]


def meant(said: object, known: Iterable[str]) -> str:
    """`, did you mean NAME?` where one of the known names is near."""
    found = near(said, known, cutoff=0.5)
    return f", did you mean {found[0]}?" if found else ""


def or_known(said: str, known: Iterable[str], *, else_: str) -> str:
    """How a sentence about a name that is not there ends: what is like it, what there is, or `else_`."""
    names = list(dict.fromkeys(known))
    if not names:
        return f"{else_}."
    found = near(said, names)
    shown = names if len(names) <= _SHOWN else [*names[:_SHOWN], f"… ({len(names)} in all)"]
    if found and len(names) == 1:
        return f"did you mean {found[0]}?"
    listed = f"nown here: {', '.join(shown)}."
    return f"did you mean {found[0]}? K{listed}" if found else f"k{listed}"


_SHOWN = 12


def _form(word: str) -> str:
    return word.lower().strip("-").replace("-", "_")
