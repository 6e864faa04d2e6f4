"""The machine files of one loop: its state, ledger, journal, log, lock and requests."""

from __future__ import annotations

import time

from ralphloop import errors
from ralphloop import system as os
from ralphloop.domain import jsontext
from ralphloop.domain.model import CANCELLED, COMPLETE, CORRUPT, ENDED, INTERRUPTED, PAUSED, LoopState
from ralphloop.domain.worklist import Worklist
from ralphloop.store import files, shelf
from ralphloop.store.files import Lock
from ralphloop.tasklists.registry import own_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from ralphloop.domain.ledger import Ledger
    from ralphloop.store.shelf import Record, Shelf

CANCEL, PAUSE = "cancel", "pause"
JOURNAL = "journal.jsonl"
BASELINE, PROOF = "baseline.json", "proof.json"  # both are written by whoever proves
JOURNAL_MAX = 4 * 1024 * 1024
PERSON = "the person"


class LoopFiles:
    """With `writes` off, everything is read as it is and nothing is touched."""

    def __init__(self, record: Record, here: Shelf, *, writes: bool = True) -> None:
        self.record = record
        self.writes = writes
        self.shelf = here
        self.folder = os.path.join(run_folder(record.root), record.id)
        self.kept = here.kept(record.id)
        self.is_newer = False  # whether its state was found to be a newer version's
        # the state of a loop that was begun without writing it
        self.begun: Optional[LoopState] = None
        self._unwritten: Optional[Ledger] = None

    def make(self) -> None:
        """Create the folders; the one in the project ignores itself in git."""
        root = self.record.root
        if not os.path.isdir(root) or not files.inside(self.folder, root):
            raise FileNotFoundError("%s is gone, or leads out of the project" % self.folder)
        files.make_folder(self.kept)
        files.make_folder(self.folder, below=root)
        ignore = os.path.join(run_folder(root), ".gitignore")
        if not os.path.isfile(ignore):
            files.write_text(ignore, "*\n")

    def _stay_inside(self) -> None:
        """A link in the place of the loop's folder is not ours: what is written there goes elsewhere."""
        if os.path.islink(self.folder) and self.writes:
            os.unlink(self.folder)
        if not files.inside(self.folder, self.record.root):
            raise FileNotFoundError("%s leads out of the project" % self.folder)

    def own_folder(self, name: str) -> str:
        """A folder beside the loop's files, made if need be; what stands in its place goes aside."""
        folder = self.path(name)
        if os.path.lexists(folder) and (os.path.islink(folder) or not os.path.isdir(folder)):
            self._set_aside(folder)
        if not os.path.isdir(self.record.root):  # a check takes its time, and the person may be done here
            raise FileNotFoundError("%s is gone" % self.record.root)
        files.make_folder(folder, below=self.record.root)
        if not files.inside(folder, self.record.root):
            raise FileNotFoundError("%s leads out of the project" % folder)
        return folder

    def _set_aside(self, path: str) -> None:
        os.rename(path, "%s.%d.aside" % (path, os.getpid()))

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def shown(self, name: str) -> str:
        """The path of a file to show to people; none if a link in its place leads out of the project."""
        path = self.path(name)
        return "" if files.leads_out(path, self.record.root) else path

    @property
    def has_baseline(self) -> bool:
        """Whether the tree was kept with which it began."""
        return os.path.exists(os.path.join(self.kept, BASELINE))

    def lock(self, *, wait_s: float = 10.0) -> Lock:
        self._stay_inside()
        files.make_folder(self.kept)
        return Lock(os.path.join(self.kept, "lock"), wait_s=wait_s)

    def load(self) -> Optional[LoopState]:
        """The loop's state. Ours is the copy out of the agent's reach; the one in the project shows it, and
        says something only where a hand has paused or cancelled the loop in it."""
        kept, shown = self._state(self.kept), self._state(self.folder)
        if kept is None:
            return shown or self.begun
        if shown is not None and kept.live and shown.outcome != COMPLETE and not shown.live:
            kept.state, kept.outcome, kept.detail = shown.state, shown.outcome or INTERRUPTED, shown.detail
        return kept

    def state(self) -> LoopState:
        """The loop's state; if both copies of it are lost or nobody here knows what they say, what its arming
        still says."""
        record, found = self.record, None
        try:
            found = self.load()
        except OSError as error:
            if not self.is_newer:
                raise
            why = str(error)
        else:
            why = "its loop.json is lost"
        return found or LoopState(
            id=record.id,
            layout=record.layout,
            name=record.name,
            owner=record.session,
            state=PAUSED,
            outcome=CORRUPT,
            detail=why,
        )

    def _state(self, folder: str) -> Optional[LoopState]:
        text = files.read_quietly(os.path.join(folder, "loop.json"))
        try:
            data = jsontext.parse_object(text or "")
            self.is_newer = folder == self.kept and LoopState.is_newer(data)
            self._must_be_known()
            state = LoopState.from_json(data)
        except ValueError:
            return None
        state.layout, state.name = self.record.layout, self.record.name
        return state if state.id == self.record.id else None

    def _must_be_known(self) -> None:
        """What a newer version wrote stays as it is, to the byte."""
        if self.is_newer:
            raise errors.NewerError(self.record.name)

    def save(self, state: LoopState, *, durable: bool = False) -> None:
        if not self.writes:
            return
        self._must_be_known()
        text = jsontext.render(state.to_json()) + "\n"
        if not os.path.isdir(self.folder):
            self.make()
        files.write_text(self.path("loop.json"), text)
        files.write_text(os.path.join(self.kept, "loop.json"), text, durable=durable)

    def rest(self, state: LoopState) -> None:
        """Save a loop that pauses or ends; an ended one leaves nothing that starts the hook again."""
        self.save(state, durable=True)
        if state.state != ENDED or not self.writes:
            return
        try:
            with self.shelf.lock():
                # the person may have changed them since this stop or session began
                self.record.limits = self.shelf.fresh(self.record).limits
                self.shelf.put(self.record, shelf.ENDED)
        except errors.BusyError:
            return  # it has ended all the same; whoever wants its list or its session next moves its record
        self._tidy()

    @property
    def is_over(self) -> bool:
        """Whether it has ended, wherever its record still is."""
        try:
            kept = self._state(self.kept)
        except OSError:  # a newer version's, of which nobody here knows
            return False
        return kept is not None and kept.state == ENDED

    def put_away(self) -> None:
        """Move the record of a loop that is over to where it belongs. Call it under the shelf's lock."""
        self.shelf.put(self.record, shelf.ENDED)
        self._tidy()

    def _tidy(self) -> None:
        """Leave nothing that starts the hook again, nor what killed writes left."""
        from ralphloop.store import ended

        path = own_file(self.record)
        for place in {path, os.path.realpath(path)}:
            ended.stamp(self.shelf, place, iso(time.time()))
        for folder in (self.folder, self.path("evidence"), self.kept, os.path.dirname(path)):
            files.sweep(folder, time.time())

    def load_ledger(self) -> Ledger:
        from ralphloop.domain.ledger import Ledger

        if self._unwritten is not None:
            return self._unwritten
        for folder in (self.kept, self.folder):
            text = files.read_quietly(os.path.join(folder, "ledger.json"))
            try:
                return Ledger.from_json(jsontext.parse_object(text or ""))
            except ValueError:
                continue
        return Ledger()

    def save_ledger(self, ledger: Ledger) -> None:
        if not self.writes:
            self._unwritten = ledger
            return
        self._must_be_known()
        text = jsontext.render(ledger.to_json()) + "\n"
        if not os.path.isdir(self.folder):
            self.make()
        files.remove(self._cursor)  # whoever is killed before the state says so leaves no stale reading
        files.write_text(self.path("ledger.json"), text)
        files.write_text(os.path.join(self.kept, "ledger.json"), text)

    @property
    def _cursor(self) -> str:
        return os.path.join(self.kept, "cursor.json")

    def load_cursor(self, key: str) -> Optional[Worklist]:
        """The worklist of an earlier stop, if nothing that it came from has changed."""
        text = files.read_quietly(self._cursor)
        if text is None:
            return None
        try:
            data = jsontext.parse_object(text)
            return Worklist.from_json(data["work"]) if data.get("key") == key else None
        except (ValueError, KeyError, TypeError):
            return None

    def save_cursor(self, key: str, work: Worklist) -> None:
        if self.writes:
            text = jsontext.render({"key": key, "work": work.to_json()})
            files.write_text(self._cursor, text)

    def journal(self, event: str, **facts: Any) -> None:
        if not self.writes:
            return
        entry = {"at": iso(time.time()), "event": event}
        entry.update(facts)
        self._append(JOURNAL, jsontext.render(entry) + "\n", most=JOURNAL_MAX)

    def log(self, text: str) -> None:
        if not self.writes:
            return
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        said = " ".join(text.split())
        if not said.isprintable():
            from ralphloop.domain.prompt import plain

            said = plain(said)
        self._append("hook.log", "[%s] %s\n" % (stamp, said), most=files.LOG_MAX)

    def _append(self, name: str, text: str, *, most: int) -> None:
        """What stands in the file's place, or cannot be written to, goes aside: it lets no agent go."""
        path = self.path(name)
        try:
            files.append(path, text, most=most)
        except OSError as error:
            if not os.path.lexists(path):  # the agent has cleaned its project up
                self.make()
            elif os.path.islink(path) or not os.path.isfile(path) or isinstance(error, PermissionError):
                self._set_aside(path)
            else:  # a full disk
                raise
            files.append(path, text, most=most)

    def request(self) -> str:
        """What a person asked for while a stop may have been under way: cancel, pause, or nothing."""
        return self.requested()[0]

    def requested(self) -> tuple[str, str]:
        """The same, with who asked for it."""
        text = files.read_quietly(os.path.join(self.kept, "request")) or ""
        what, _, who = text.strip().partition("\n")
        return (what, who or PERSON) if what in (CANCEL, PAUSE) else ("", "")

    def ask_for(self, request: str, *, by: str = PERSON) -> None:
        files.make_folder(self.kept)
        files.write_text(os.path.join(self.kept, "request"), "%s\n%s\n" % (request, by))

    def clear_request(self) -> None:
        files.unlink(os.path.join(self.kept, "request"))


def obey(state: LoopState, request: str, who: str) -> None:
    """Pause or cancel the loop, as somebody asked."""
    if request == CANCEL:
        state.state, state.outcome, state.detail = ENDED, CANCELLED, "cancelled by " + who
    else:
        state.state, state.outcome, state.detail = PAUSED, INTERRUPTED, "paused by " + who


def run_folder(root: str) -> str:
    return os.path.join(root, ".ralph", "run")


def iso(moment: float) -> str:
    """UTC with milliseconds, as the client's transcript has it; such texts sort by time."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + ".%03dZ" % (moment * 1000 % 1000)


def new_id(layout: str, name: str, *, now: float, is_taken: Callable[[str], bool]) -> str:
    """Layout, name and start time; a number on top if two loops begin in one second."""
    plain = "".join(ch if (ch.isalnum() and ch.isascii()) or ch in "._-" else "-" for ch in name)[:60]
    begun = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    base = "%s-%s-%s" % (layout, plain.lstrip(".") or "loop", begun)
    loop_id, count = base, 1
    while is_taken(loop_id):
        count += 1
        loop_id = "%s-%d" % (base, count)
    return loop_id
