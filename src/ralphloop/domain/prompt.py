"""The texts that a stop sends: the reason for the agent, the status line for the person; and how a text
becomes one line that no terminal obeys."""

from __future__ import annotations

from ralphloop.domain.model import EXECUTION, UNLIMITED, Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import KW_ONLY
    from typing import Iterable

    from ralphloop.domain.check_results import Refusal
    from ralphloop.domain.layout import Traits
    from ralphloop.domain.model import LoopState
    from ralphloop.domain.worklist import Item, Worklist

REASON_MAX = 9_800  # the client cuts a context text at 10,000 characters
TASK_MAX = 5_000
HOW_MAX = 4_500
NOTES_MAX = 3_000
CARRY_MAX = 3_000
LINE_MAX = 300
VOUCHED_MAX = 5  # commands that one message names
ID_MAX = 200  # a longer id is no word for a command line

CORRUPT = "Corrupt state file: "  # words that public suites look for, as "Maximum global iterations" is

# Line ends and marks that turn the reading direction would let a title forge other lines.
BREAKS = "\n\r\t\v\f\x85\u2028\u2029"
TURNS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
UNSAFE = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0), *map(ord, TURNS)), "\ufffd")
UNSAFE.update(dict.fromkeys(map(ord, BREAKS), " "))


class Words(Fields):
    """The names and commands that a reason needs: how to call us, and where the files are."""

    _: KW_ONLY
    command: str
    traits: Traits  # of the list's layout
    list_path: str
    notes_path: str = ""
    plugin: str = ""  # whose hook this is, if it is one's
    run: str = ""  # the loop's name where a supervisor drives it
    branch: str = ""  # and the branch that it commits on

    @property
    def only_alone(self) -> bool:
        """Whether it is our hook that allows the agent's calls of us: on a line of their own only."""
        return bool(self.plugin or self.run)

    @property
    def go_on(self) -> str:
        """What the person does after they have answered."""
        return "`%s`" % self.how("resume") if self.run else "send any message"

    def beside(self, name: str) -> str:
        """Another file in the folder of the notes."""
        folder, slash, _ = self.notes_path.rpartition("/")
        return folder + slash + name

    def how(self, verb: str) -> str:
        """How the person does it: typed in the client where a plugin is at work, else in a terminal."""
        if self.run and verb == "resume":
            return "%s run %s" % (self.command, shell_word(self.run))
        if not self.plugin:
            return "%s %s" % (self.command, verb)
        action = self.traits.action if verb == "resume" else ""
        return self.traits.typed(action or verb)


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 2].rstrip() + " …"


def line(text: str, most: int = LINE_MAX) -> str:
    return cut(" ".join(text.split()), most)


def plain(text: str) -> str:
    """The text on one line, without anything that a terminal would obey."""
    return text.translate(UNSAFE).encode("utf-8", "replace").decode("utf-8")


def done(closed: int, total: int, unverified: int = 0) -> str:
    """`4/4 done, 1 unverified`."""
    return "%d/%d done" % (closed, total) + (", %d unverified" % unverified if unverified else "")


def tally(work: Worklist) -> str:
    if not work.checkable:
        return done(work.closed, work.total)
    counts = ((work.given, "given"), (work.vouched, "vouched"), (work.unverified, "unverified"))
    others = ", ".join("%d %s" % count for count in counts if count[0])
    return "%d/%d proven" % (work.proven, work.total) + (" (+ %s)" % others if others else "")


def set_aside(work: Worklist) -> str:
    """The tasks that the loop goes on without, each with why."""
    named = ["%s (%s)" % (task, why) if why else task for task, why in work.set_aside]
    return "set aside: " + ", ".join(named)


def status_line(loop: LoopState, work: Worklist, *, traits: Traits, limit: int, is_red: bool = False) -> str:
    """What the person sees while the loop goes on."""
    if not traits.voice:
        rest = "the list's own check" if is_red else "the rest of the checks"
        ids = ", ".join(line(item.id, 80) for item in work.next) or rest
        return "ralphloop · iteration %s · %s · next %s" % (
            turns(loop.iteration, limit, "/"),
            tally(work),
            ids,
        )
    group = " (PARALLEL GROUP)" if len(work.next) > 1 else ""
    place = work.next[0].place + 1 if work.next else work.index
    return "%s iteration %d | Task %d/%d%s" % (traits.voice, loop.iteration, place, work.total, group)


def turns(iteration: int, limit: float, of: str) -> str:
    """`3 of 30`, or the number alone where the person asked for no limit."""
    return "%d%s%d" % (iteration, of, limit) if limit < UNLIMITED else "%d" % iteration


def said(loop: LoopState, text: str, *, traits: Traits) -> str:
    """A message about this loop in the voice of its layout."""
    return "%s: %s" % (traits.voice or "ralphloop " + loop.name, text)


def continuation(
    loop: LoopState,
    work: Worklist,
    *,
    limit: int,
    words: Words,
    notes: Iterable[str] = (),
    refusals: Iterable[Refusal] = (),
) -> str:
    """The text that sends the agent to its next task, or to the rest of the checks."""
    refusals, traits = list(refusals), words.traits
    if work.next:
        head, how = _headline(loop, work, limit=limit, traits=traits), cut(_how(work.next, words), HOW_MAX)
    elif any(not refusal.task for refusal in refusals):
        head = said(loop, "every task is closed, but the list's own check is not green.", traits=traits)
        how = "Make it green and commit, then stop: it is run again. No task is open; claim nothing."
    else:
        head = said(loop, "checks are still to run; they go on when you stop.", traits=traits)
        how = "Reply that you wait."
    spare = REASON_MAX - len(head) - len(how) - 20
    noted = cut("\n\n".join(line(note, 1500) for note in notes), min(NOTES_MAX, spare // 2))
    spare -= len(noted)
    room = min(TASK_MAX, spare if not refusals else spare // 3) // max(1, len(work.next))
    tasks = [_task(item, room, words) for item in work.next]
    parts = [refused(refusals, spare - sum(map(len, tasks))), noted, head, *tasks, how]
    return cut("\n\n".join(part for part in parts if part), REASON_MAX)


def carried(notes: Iterable[str], refusals: Iterable[Refusal]) -> str:
    """What one session leaves to the next: that a claim was refused is not in its conversation."""
    noted = cut("\n\n".join(line(note, 1500) for note in notes), NOTES_MAX)
    return "\n\n".join(part for part in (refused(refusals, CARRY_MAX), noted) if part)


def refused(refusals: Iterable[Refusal], room: int) -> str:
    """The refusals of one stop, each with its share of the room."""
    found = list(refusals)
    share = room // max(1, len(found))
    return "\n\n".join([refusal.told(share) for refusal in found[: max(1, room // 120)]])


def _headline(loop: LoopState, work: Worklist, *, limit: int, traits: Traits) -> str:
    first = work.next[0]
    where = "Task %d/%d" % (first.place + 1, work.total)
    if not traits.voice:
        turn = turns(loop.iteration, limit, " of ")
        return "Loop %s, iteration %s: go on with task %s (%d/%d)." % (
            loop.name, turn, line(first.id, 80), first.place + 1, work.total,
        )  # fmt: skip
    text = "Continue %s: %s (%s, Iter %d)" % (traits.kind, loop.name, where, loop.iteration)
    if len(work.next) > 1:
        text += "\nThese %d tasks are marked [P]: work on them in parallel." % len(work.next)
    return text


def _task(item: Item, room: int, words: Words) -> str:
    name = line(item.id, 80)
    if item.body:
        text = item.body
    else:
        text = "%s: %s" % (name, item.title) if item.title else name
        text += "".join("\n%d. %s" % (n, step) for n, step in enumerate(item.steps, 1))
    answer = ""
    if item.answer:
        asked = line(item.question, min(LINE_MAX, room // 5))
        answer = '\nYou asked: "%s" The answer: %s' % (asked, cut(item.answer, min(2000, room // 2)))
    if len(text) + len(answer) > room:
        more = "\n(cut here; the whole text is in %s)" % words.list_path
        text = cut(text, max(40, room - len(answer) - len(more))) + more
    return text + answer


def _how(items: list[Item], words: Words) -> str:
    """The same few rules every time, because a compaction may have dropped the first prompt."""
    steps = ["Do this and nothing beyond it." if len(items) == 1 else "Do these and nothing beyond them."]
    if words.traits.delegates:
        steps[0] += _delegation(items, words)
    checks = [command for item in items for command in item.verify]
    if checks:
        steps.append("It must pass: %s." % cut("; ".join("`%s`" % line(c) for c in checks), 1500))
    if any("VERIFY" in item.marks for item in items):
        steps.append("[VERIFY]: check the work so far with fresh eyes; change no other task.")
    ids = [_argument(item.id) for item in items if len(item.id) <= ID_MAX]
    steps.append("When it is really done, claim it: %s." % _claim(ids, items[-1], words))
    steps += _commit(words)
    if words.traits.delegates:
        steps.append("There is nothing to announce at the end: ALL_TASKS_COMPLETE is not needed.")
    ask = "`%s ask %s 'TEXT'`" % (words.command, ids[0] if ids else "ID")
    steps.append(
        "If something is unclear, decide, note the assumption and go on; what only the person can settle "
        "goes through %s. A question in your reply does not stop the loop." % ask
    )
    return "\n".join("- " + step for step in steps)


def _claim(ids: list[str], last: Item, words: Words) -> str:
    closing = words.traits.closing
    if words.list_path.endswith("-state.json"):  # of a spec without a tasks.md
        closing = "taskIndex to %d" % (last.place + 1)
    by_hand = "set %s in %s" % (closing, words.list_path)
    claims = " or ".join("`%s done %s`" % (words.command, name) for name in ids)
    alone = ", alone on its line" if words.only_alone else ""
    return "%s%s (or %s)" % (claims, alone, by_hand) if ids else by_hand


def _commit(words: Words) -> list[str]:
    note = "note what you did in %s" % words.notes_path if words.notes_path else ""
    if not words.branch:
        return ["Commit%s." % (" and " + note if note else "")]
    stay = "Do not commit, and stay on the branch `%s`: ralphloop commits there when a task is closed."
    return [*([note[:1].upper() + note[1:] + "."] if note else []), stay % line(words.branch, 80)]


def _delegation(items: list[Item], words: Words) -> str:
    """Who does the work: after a compaction a coordinator may have forgotten that it has agents."""
    agent = "qa-engineer" if all("VERIFY" in item.marks for item in items) else "spec-executor"
    agent = "`%s:%s`" % (words.plugin, agent) if words.plugin else "`%s`, if there is one," % agent
    given = "it to the agent" if len(items) == 1 else "each to an agent"
    return " Hand %s %s and look at what it did." % (given, agent)


def _argument(task_id: str) -> str:
    """An id on a command line, where one that begins with a dash is no option."""
    return ("-- " if task_id.startswith("-") else "") + shell_word(task_id)


def shell_word(text: str) -> str:
    """A word that a POSIX shell reads back as it was."""
    if text and all((ch.isalnum() and ch.isascii()) or ch in "._-/:@+" for ch in text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def count(number: int, thing: str) -> str:
    """`1 task`, `2 tasks`."""
    return "%d %s" % (number, thing) if number == 1 else "%d %ss" % (number, thing)


def answering(task: str, loop: str) -> str:
    """The command that answers a question, whichever other loops there are."""
    return "ralphloop answer %s TEXT --loop %s" % (shell_word(task), shell_word(loop))


def vouching(tasks: list[str], command: str = "ralphloop", loop: str = "") -> str:
    """The commands by which the person takes their word for proof of these tasks, some at a time."""
    named = ["%s accept %s" % (command, shell_word(line(task))) for task in tasks[:VOUCHED_MAX]]
    commands = ["`%s --loop %s`" % (one, shell_word(loop)) if loop else "`%s`" % one for one in named]
    if len(tasks) == 1:
        return commands[0] + " vouches for it"
    more = len(tasks) - len(commands)
    return " and ".join(commands) + " vouch for them" + (" (and so for %d more)" % more if more else "")


def doubt(loop: LoopState, words: Words) -> str:
    return (
        "Every task of %s is marked done in %s, but no tool was used since the loop began. Look at the work "
        "itself: reopen what is not really done, or stop again if all of it is. This is asked only once."
        % (loop.name, words.list_path)
    )


def phase(loop: LoopState, work: Worklist, *, written: bool, words: Words) -> str:
    """What quick mode wants now: the phase's document, or the command that begins the next phase."""
    name = line(work.phase, 40)
    head = "Quick mode is on for %s: do not stop yet. " % loop.name
    traits, phases = words.traits, [*words.traits.phases]
    if name not in phases:
        known = ", ".join([*phases, EXECUTION])
        wrong = "The phase %s in its state is none of %s" % (name or "(none)", known)
        return "%s%s: set it to the one that the spec has reached, then go on." % (head, wrong)
    action = [*phases, traits.action][phases.index(name) + 1]
    run = "`%s %s %s` (`%s`)" % (words.command, loop.layout, action, traits.typed(action))
    document = words.beside(traits.phases[name])
    if written:
        return head + (
            "%s exists, so the %s phase is written. Run %s now: it begins what comes next; then go on like "
            "this up to execution." % (document, name, run)
        )
    return head + (
        "%s of the %s phase is not written: write it, without questions. Then run %s, which begins what "
        "comes next, and go on like this up to execution." % (document, name, run)
    )


def recovery(loop: LoopState, *, path: str, problem: str, words: Words) -> str:
    """What the agent may do about a file that cannot be read."""
    return (
        "ERROR: %s%s of %s cannot be used: %s\n\n"
        "Recovery options:\n"
        "1. Repair %s so that it is valid again (tasks that are done stay marked as done).\n"
        "2. Or let the person end this loop: `%s cancel`.\n"
        "Do nothing else until one of them is done. The loop does not ask a second time."
        % (CORRUPT if words.traits.voice else "", path.rsplit("/", 1)[-1], loop.name, line(problem),
           path, words.command)
    )  # fmt: skip


def reached(why: str) -> str:
    """How a spec's limit is told."""
    is_turns = why.startswith("iteration ")
    return "Maximum global iterations reached (%s)" % why if is_turns else "limit reached: " + why


def limit_log(plugin: str, why: str, ids: str) -> str:
    """The line about it on stderr."""
    return "[%s] %s; open: %s" % (plugin, reached(why), line(ids))


def limit_recovery(loop: LoopState, work: Worklist, *, why: str, words: Words) -> str:
    return (
        "ERROR: %s. The loop over %s is at its limit with %d tasks open: %s.\n\n"
        "Recovery options:\n"
        "1. Write down in %s what is done, what failed and what the next step would be, then stop.\n"
        "2. The person can go on with `%s --max-%siterations N`.\n"
        "Start no further task. The loop does not ask a second time."
        % (reached(why), loop.name, work.open_total, line(", ".join(work.open_ids)),
           words.notes_path or ".progress.md", words.how("resume"), "global-" if words.plugin else "")
    )  # fmt: skip
