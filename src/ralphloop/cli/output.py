"""What the command line says and asks: lines and JSON that no text can steer, progress, the person's consent,
what is wrong with a call; and the options of several commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, TypeVar

from ralphloop import spelling
from ralphloop.domain.prompt import plain
from ralphloop.errors import UnapprovedError, UsageError
from ralphloop.loops.result import Quoted, Result

if TYPE_CHECKING:
    from ralphloop.loops.consent import Approval

T = TypeVar("T")

PROGRAM = "ralphloop"
# What people call what has another name here.
COMMANDS_CALLED = {
    "begin": "start",
    "continue": "resume",
    "create": "new",
    "end": "cancel",
    "init": "new",
    "kill": "cancel",
    "list": "status",
    "ls": "status",
    "settings": "config",
    "setup": "install",
    "stop": "pause",
}
OPTIONS_CALLED = {
    "--json": "--format json",
    "-y": "--yes",
    "--force": "--yes",
    "--name": "--loop",
    "-v": "--version",
    "-V": "--version",
}
# How an option's value looks, where its place in the help is only a letter.
SAMPLES = {"N": "20", "USD": "5"}
_LONGEST = 40  # of a word that is repeated
STRICT = "a doubt about a proof opens its task again (default: it is told)"


def show(result: Result, *, as_json: bool = False, as_is: bool = False) -> int:
    """What came of an action, for whoever called; its exit code. `as_is` are others' texts."""
    if as_json:
        say_json(result.data)
    else:
        (say if as_is else tell)(*result.messages)
    return result.code


def tell(*lines: str, hang: int | None = None) -> None:
    """What people read: also in a pipe no line is too long for a terminal. What goes on in the next row
    stands there behind `hang` blanks."""
    for line in lines:
        if isinstance(line, Quoted):
            say(line)
        else:
            say(*(_folded(part, sys.stdout, hang=hang, least=2) for part in line.split("\n")))


def screen(stream: TextIO | None = None) -> tuple[int, int]:
    """Columns and rows that text on this stream may take."""
    import os

    from ralphloop.views.fold import COLUMNS, size_of

    columns, rows = size_of(stream or sys.stdout, os.environ)
    return max(COLUMNS, columns), rows


def say(*lines: str) -> None:
    for line in "\n".join(lines).split("\n") if lines else ():
        print(plain(line))


def say_json(data: Any) -> None:
    import json

    print(json.dumps(_clean(data), indent=2))


def complain(message: str) -> None:
    """On stderr, whatever the message holds: one line, or as many as a terminal needs."""
    told = "ralphloop: " + plain(message)
    try:
        print(_folded(told, sys.stderr) if sys.stderr.isatty() else told, file=sys.stderr)
    except OSError:  # there is nobody else to tell
        mute(sys.stderr)


def mute(stream: TextIO) -> None:
    """Let what is still in the buffer go nowhere, or Python tells at its end that it could not."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def show_progress(told: str) -> None:
    """A line on the person's terminal that the next one takes the place of; nothing where there is none."""
    if sys.stderr is not None and sys.stderr.isatty():
        import os

        from ralphloop.views.fold import cut, size_of

        columns, _ = size_of(sys.stderr, os.environ)
        row = cut(plain(told), columns - 1)  # what fills a second one would stay there
        print("\r\033[K" + row, end="", file=sys.stderr, flush=True)


def _folded(line: str, stream: TextIO, *, hang: int | None = None, least: int = 0) -> str:
    """Between words, and never inside backticks: what stands there is to be copied."""
    from ralphloop.views.fold import fold

    return "\n".join(fold(plain(line), screen(stream)[0], hang=hang, least=least))


def _clean(value: Any) -> Any:
    """Texts as any JSON reader takes them: bytes that were not UTF-8 become question marks."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, (list, tuple)) else value


def consented(args: argparse.Namespace, begin: Callable[[Approval | None, bool, Sequence[str]], T]) -> T:
    """Begin; where commands are not approved, show them and ask, then begin with the answer, and with the
    doubts that the person has seen. With --unapproved it begins all the same."""
    from ralphloop.loops.consent import TERMINAL, YES, Approval

    given: Approval | None = None
    seen: tuple[str, ...] = ()
    while True:
        try:
            return begin(given, False, seen)
        except UnapprovedError as error:
            if not args.json:
                _show_unapproved(error, again=given is not None, seen=seen)
                seen = error.doubts
            if args.yes and given is None:
                given = Approval(error.commands, YES)
            elif error.askable and not args.json and can_ask() and ask("Approve them and start? [y/N] "):
                given = Approval(error.commands, TERMINAL)
            elif args.unapproved:
                return begin(None, True, seen)
            else:
                raise


def _show_unapproved(error: UnapprovedError, *, again: bool, seen: Sequence[str]) -> None:
    from ralphloop.loops.consent import listing

    tell(*(["The list has changed meanwhile."] if again else []))
    tell(*(f"! {doubt}" for doubt in error.doubts if doubt not in seen))
    tell(*listing(error.commands, already=error.already))
    sys.stdout.flush()  # before the error that speaks of it, wherever both streams lead


def can_ask() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def ask(question: str, *, left: str = "Nothing is approved and nothing started.") -> bool:
    """Whether the person says yes; `left` is what Ctrl-C leaves."""
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False
    except KeyboardInterrupt:
        print("\n" + left)
        raise


class Parser(argparse.ArgumentParser):
    """Raises what argparse would print with its usage, in words that are the same in every Python."""

    def __init__(self, **said: Any) -> None:
        said = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False, **said}
        super().__init__(**said, exit_on_error=False)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        words = list(sys.argv[1:] if args is None else args)
        self._must_have_options(words)
        try:
            found, more = super().parse_known_args(words, namespace)
        except argparse.ArgumentError as error:
            self._refuse(error)
        if more:
            self._too_much(more[0])
        return found, more

    def knows(self, option: str) -> bool:
        return option in self._option_string_actions

    def error(self, message: str) -> NoReturn:
        lacking = message.partition("required: ")[2]  # so argparse says it, from 3.10 to 3.14
        if lacking:
            self._lacks(lacking.split(", "))
        raise UsageError(f"`{self.prog}`: {message}; {self._help('shows what it takes')}.")

    def _must_have_options(self, words: Sequence[str]) -> None:
        """Before argparse looks for what is required: a misspelt option is the likelier mistake."""
        for word in words:
            if word == "--" or (self._subparsers is not None and not word.startswith("-")):
                return  # what follows is text, or belongs to another parser
            option = word.partition("=")[0] if word.startswith("--") else word[:2]
            is_number = word[1:2].isdigit() or word[1:2] == "."
            if len(word) > 1 and word[0] == "-" and not (is_number or " " in word or self.knows(option)):
                self._no_option(option)

    def _no_option(self, option: str) -> NoReturn:
        shown = [name for name, one in self._option_string_actions.items() if one.help != argparse.SUPPRESS]
        called = OPTIONS_CALLED.get(option, "")
        near = [called] if self.knows(called.partition(" ")[0]) else spelling.near(option, shown)
        told = f"`{self.prog}` has no option `{_short(option)}`"
        if near:
            raise UsageError(f"{told}; did you mean `{near[0]}`? {self._help('shows them all')}.")
        raise UsageError(f"{told}; {self._help('shows those that it has')}.")

    def _refuse(self, error: argparse.ArgumentError) -> NoReturn:
        if error.argument_name is None:
            self.error(error.message)
        name, told = error.argument_name.split("/")[-1], error.message
        option = self._option_string_actions.get(name)
        is_value = isinstance(error.__context__, (argparse.ArgumentTypeError, ValueError, TypeError))
        if option is not None and option.nargs == 0:
            raise UsageError(f"`{name}` of `{self.prog}` takes no value; type `{name}` alone.")
        if option is not None and told.startswith("expected"):
            such = f"such as `{name} {_sample(option)}`"
            raise UsageError(f"`{name}` of `{self.prog}` needs a value behind it, {such}.")
        cure = self._help("shows what it takes")
        if option is not None and is_value:
            cure = f"type for example `{name} {_sample(option)}`"
        raise UsageError(f"{name}: {told}; {cure}.")

    def _lacks(self, names: Sequence[str]) -> NoReturn:
        """With what each of them is, and the first example of the help."""
        actions = [action for action in self._actions if action.metavar in names]
        choices = [str(choice) for action in actions for choice in action.choices or ()]
        told = f"`{self.prog}` needs {' and '.join(names)} behind it"
        if choices:
            raise UsageError(f"{told}, one of {', '.join(choices)}; {self._help('says what each does')}.")
        meanings = "; ".join(f"{action.metavar} is {action.help}" for action in actions)
        raise UsageError(f"{told} ({meanings}); type for example {self._example()}.")

    def _too_much(self, word: str) -> NoReturn:
        if word.startswith("-") and " " not in word:
            self._no_option(word)
        raise UsageError(
            f"`{self.prog}` cannot use the word `{_short(word)}`: it is one too many. Put a text that has "
            f"spaces into quotes; {self._help('shows what it takes')}."
        )

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Private to argparse, and the one place that knows the value; where it is not called, argparse's own
        words are told."""
        if action.choices is None or value in action.choices:
            return
        names = [str(choice) for choice in action.choices]
        near = spelling.near(value, names)
        if action.option_strings:
            option, said = action.option_strings[-1], _short(str(value))
            told = f"{option}: {said!r} is none of {', '.join(names)}"
            if near:
                raise UsageError(f"{told}; did you mean `{option} {near[0]}`?")
            raise UsageError(f"{told}; type for example `{option} {names[0]}`.")
        raise UsageError(_not_there(self.prog, str(action.metavar).lower(), said=str(value), near=near))

    def _example(self) -> str:
        lines = (line.strip() for line in (self.epilog or "").splitlines())
        found = next((line for line in lines if line.startswith(self.prog + " ")), f"{self.prog} --help")
        return f"`{found}`"

    def _help(self, shows: str) -> str:
        return f"`{self.prog} --help` {shows}"


def value(read: Callable[[str], T]) -> Callable[[str], T]:
    """The same for argparse, which shows only the text of its own errors."""

    def parse(text: str) -> T:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def _or_off(read: Callable[[str], float]) -> Callable[[str], float]:
    """A limit that can be taken off again: it is 0 then."""
    return lambda text: 0 if text.strip().lower() == "off" else read(text)


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Those that `start` sets and `resume` may change, as options."""
    from ralphloop.config import keys  # what most commands do without
    from ralphloop.loops.bounds import SETTABLE

    group = parser.add_argument_group("limits")
    for name, row in SETTABLE.items():
        read, told = keys.AMOUNTS[row.kind][0], f"{row.told} (default: {row.usual})"
        kind = value(read if row.default else _or_off(read))
        group.add_argument(row.option, dest=name, metavar=row.sample, type=kind, help=told)
    group.add_argument(
        "--i-know", action="store_true", help="needed for --max-iterations 0, no limit of turns"
    )


def limits_given(args: argparse.Namespace) -> dict[str, float]:
    """Those that were asked for, by their names."""
    from ralphloop.loops.bounds import SETTABLE

    found = {name: getattr(args, name) for name in SETTABLE}
    return {name: most for name, most in found.items() if most is not None}


def no_command(said: str, known: Mapping[str, object]) -> UsageError:
    """Of a first word that is not known."""
    called = COMMANDS_CALLED.get(said.lower())
    near = [called] if called else spelling.near(said, known)
    return UsageError(_not_there(PROGRAM, "command", said=said, near=near))


def must_stand_behind(command: str, argv: Sequence[str], parser: Parser) -> None:
    """An option of a command that stands in front of it, or of the usual one, which was not named."""
    at = argv.index(command) if command in argv else len(argv)
    option = next((word.partition("=")[0] for word in argv[:at] if parser.knows(word.partition("=")[0])), "")
    if option:
        import shlex  # only after a mistake

        right = shlex.join(map(_short, (PROGRAM, command, *argv[:at], *argv[at + 1 :])))
        told = f"the option `{option}` belongs to a command and stands behind it"
        raise UsageError(f"{told}; type `{right}`.")


def needs_command(said: str) -> UsageError:
    """Of a word in front of every command that is no option either."""
    return UsageError(
        f"`{PROGRAM}` needs a command in front of `{_short(said)}`; `{PROGRAM} --help` lists them all."
    )


def _not_there(prog: str, kind: str, *, said: str, near: Sequence[str]) -> str:
    has = "there is" if prog == PROGRAM else f"`{prog}` has"
    told = f"{has} no {kind} `{_short(said)}`"
    if near:
        return f"{told}; did you mean `{prog} {near[0]}`? `{prog} --help` lists them all."
    return f"{told}; `{prog} --help` lists them all."


def _sample(option: argparse.Action) -> str:
    shown = option.metavar if isinstance(option.metavar, str) else "VALUE"
    return str(next(iter(option.choices))) if option.choices else SAMPLES.get(shown, shown)


def _short(word: str) -> str:
    return word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…"
