"""What a misspelt word was meant to be: a command, an option, a loop, a task, a setting."""

from __future__ import annotations

from collections.abc import Iterable


def near(said: object, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6) -> list[str]:
    """The known words that are most like it, best first; what is the same but for capitals, dashes and blanks
    is the only answer."""
    forms: dict[str, dict[str, None]] = {}
    for name in known:
        forms.setdefault(form(name), {})[name] = None
    word = form(str(said)[:200])
    found = [word] if word in forms else _like(word, forms, cutoff=cutoff)
    return [name for one in found for name in forms[one]][:most]


def form(word: str) -> str:
    """What two spellings of one word have in common."""
    return "".join(sign for sign in word.lower() if sign not in "-_ ")


def _like(word: str, forms: Iterable[str], *, cutoff: float) -> list[str]:
    """Best first; of those that are as good, the first."""
    import difflib  # only after a mistake

    matcher = difflib.SequenceMatcher(b=word)
    found: list[tuple[float, int, str]] = []
    for one in forms:
        matcher.set_seq1(one)
        if min(matcher.real_quick_ratio(), matcher.quick_ratio()) >= cutoff and matcher.ratio() >= cutoff:
            found.append((-matcher.ratio(), len(found), one))
    return [one for *_, one in sorted(found)]


def meant(said: object, known: Iterable[str]) -> str:
    """`, did you mean NAME?` where one of the known names is near."""
    found = near(said, known)
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
