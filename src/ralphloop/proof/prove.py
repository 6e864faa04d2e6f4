"""The proof of one stop or one command: which checks are due, and what follows from their verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ralphloop.domain.check_results import BUDGET_S, Refusal, Results
from ralphloop.domain.ledger import Ledger
from ralphloop.domain.model import (
    CLAIMED,
    CLAIMS,
    FINAL_RUN,
    GIVEN,
    PROBES,
    PROVEN,
    SET_ASIDE,
    SKIPPED,
    THE_LIST,
    UNVERIFIED,
    VOUCHED,
    LoopState,
    Task,
    TaskList,
)
from ralphloop.proof import approval, check_record, protect, repository, tree
from ralphloop.proof.checker import GREEN, RED, UNFINISHED, WAITS, Checker, Due, Origin, Verdict, due
from ralphloop.store import approvals, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import traits

if TYPE_CHECKING:
    from ralphloop.domain.finding import Finding
    from ralphloop.proof.probe import Probe
    from ralphloop.proof.proof_record import ProofRecord

CLAIMS_MAX = 50  # claims judged in one stop
TOUCHED_SHOWN = 8


class Answers(NamedTuple):
    """What the questions of a probe have come to."""

    record: ProofRecord
    is_all: bool  # whether there was time for all
    is_strict: bool  # whether doubts are refused


class Prover:
    """`plan` and `settle` are called under the loop's lock, `run` outside of it."""

    def __init__(
        self,
        loop: LoopFiles,
        *,
        cwd: str,
        env: Mapping[str, str],
        origin: Origin,
        budget_s: float = BUDGET_S,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.results = Results()
        self.verdicts: dict[str, Verdict] = {}
        self.touched: list[protect.Touched] = []
        self._loop = loop
        self._env = env
        self._folder = repository.folder_for(loop.record.root, cwd)
        self._checker = Checker(loop, folder=self._folder, env=env, origin=origin, budget_s=budget_s, say=say)
        self._due: list[Due] = []
        self._need = ""
        self._iteration = 0
        self._round = 0
        self._is_planned = False
        self._states: dict[str, str] = {}  # of the tasks, when it was planned
        self._tree_after = ""
        self._asked: list[Due] = []  # what a final run proves, and must be asked whose green it is
        self._probe: Probe | None = None
        self._is_asked = True  # whether the probe had the time for all

    @property
    def _waits_for_approval(self) -> bool:
        return traits(self._loop.record.layout).waits_for_approval

    @property
    def _is_final(self) -> bool:
        return self._need == FINAL_RUN

    def plan(self, need: str, state: LoopState, *, same_round: bool = False) -> None:
        """Decide what is due: the claimed tasks, once more everything that is done, or whose green it is."""
        self._begin(need, state)
        if need == PROBES:
            return
        try:
            listed, ledger = self._listed()
        except (ValueError, OSError):
            self._is_planned = False
            return
        self._states = {task.id: _said(ledger, task.id) for task in listed.tasks if task.done}
        self._plan_round(state, same_round=same_round)
        waiting = approvals.unapproved(self._loop.shelf, listed)
        unapproved = set(waiting)
        self._note_waiting(listed, ledger, waiting=waiting)
        wanted = [_due(task, ledger) for task in listed.tasks if is_due(task, ledger, final=self._is_final)]
        if self._is_final and listed.verify:
            wanted.append(due(listed))
        for one in wanted:
            if self.results.blocked or unapproved.intersection(one.commands):
                self.verdicts[one.task] = Verdict(WAITS)
            else:
                self._due.append(one)
        self._due = self._checker.in_order(self._due)
        if self._is_final:
            given = {task.id for task in listed.tasks if ledger.state(task) == GIVEN}
            self._asked = [one for one in self._due if one.task not in given]
        if need == CLAIMS:
            self.verdicts.update({one.task: Verdict(UNFINISHED) for one in self._due[CLAIMS_MAX:]})
            del self._due[CLAIMS_MAX:]

    def plan_tasks(
        self, chosen: Sequence[Task], state: LoopState, *, whole: TaskList | None = None
    ) -> list[str]:
        """The same for tasks that are named, and for the `whole` list's own; those whose checks are not
        approved are left out and told."""
        self._begin("", state)
        allowed = approvals.approved(self._loop.shelf)
        wanted = [due(task) for task in chosen]
        wanted += [due(whole)] if whole is not None and whole.verify else []
        ready = [one for one in wanted if allowed.issuperset(one.commands)]
        self._due = self._checker.in_order(ready)
        return [one.task or THE_LIST for one in wanted if one not in ready]

    def _begin(self, need: str, state: LoopState) -> None:
        self._need, self._iteration, self._round = need, state.iteration, 0
        self._due, self.verdicts, self.touched = [], {}, []
        self._is_planned = True

    def _listed(self) -> tuple[TaskList, Ledger]:
        """The list as it is judged: with its pinned criteria, whatever the file says at this moment."""
        ledger = self._loop.load_ledger()
        return tasks.with_pins(self._loop, ledger)[0], ledger

    def _plan_round(self, state: LoopState, *, same_round: bool) -> None:
        """A final run that did not fit into one stop goes on at the next, if nothing was done in between."""
        if not self._is_final:
            state.final_round = 0
            return
        if same_round and state.final_round and state.final_tree == self._tree_digest():
            so_far = check_record.of_round(self._loop, state.final_round)
            self._checker.take_as_green([entry for entry in so_far if entry.green])
        else:
            state.final_round = check_record.next_number(self._loop)
        self._round = state.final_round

    def _tree_digest(self) -> str:
        return tree.look(self._folder, self._env).digest or ""

    def _note_waiting(self, listed: TaskList, ledger: Ledger, *, waiting: list[str]) -> None:
        results, wanted = self.results, set(waiting)
        results.commands, results.digest = waiting, approval.digest(waiting)
        settled = (VOUCHED, SKIPPED, SET_ASIDE)
        held = [
            task for task in listed.tasks if wanted & set(task.verify) and ledger.state(task) not in settled
        ]
        pinned = [task for task in held if not ledger.tasks.get(task.id, {}).get("added")]
        results.void = approvals.why_void(self._loop.shelf) if wanted else ""
        results.blocked = bool(results.void and held and wanted & approvals.recorded(self._loop.shelf))
        if self._waits_for_approval:
            # An earlier version began loops without asking for the list's own: there it waits until the end.
            of_list = bool(wanted & set(listed.verify))
            results.blocked = bool(pinned) or (of_list and self._loop.record.unapproved)
            results.waiting = [task.id for task in held if ledger.state(task) == CLAIMED]
            results.waiting += [THE_LIST] if of_list and self._is_final else []

    def run(self) -> None:
        """Run what is due; no lock is held meanwhile."""
        self.results.trouble = ""
        if self._need == PROBES:
            self._ask()
        if not self._due:
            return
        try:
            self._run()
        except OSError as error:
            self.results.trouble = str(error)
            self.verdicts.update({one.task: Verdict(UNFINISHED) for one in self._due})

    def _ask(self) -> None:
        assert self._probe is not None, "a final run comes first"
        try:
            self._is_asked = self._probe.ask()
        except OSError as error:
            self._is_asked = True
            self._probe.give_up(str(error))

    def _run(self) -> None:
        protected = protect.Protected(self._loop, self._folder)
        if not protected.pinned:
            protected.pin(protect.patterns_of(self._loop))
        before = protected.put_back()
        if before and not self._is_final:
            self.touched = before
        else:
            if self._is_final:
                self._begin_probe()
            self.verdicts |= self._checker.judge(self._due, iteration=self._iteration, round_no=self._round)
            self.touched = protected.put_back()
            self._tree_after = self._tree_digest() if self._is_final else ""
        if self.touched:
            self._refuse_touched()

    def _begin_probe(self) -> None:
        """The work alone may serve as the final run itself."""
        from ralphloop.proof.probe import Probe  # a claim needs nothing of it

        self._probe = Probe(self._loop, folder=self._folder, env=self._env, deadline=self._checker.deadline)
        commands = {command for one in self._due for command in one.commands}
        self._probe.begin(self._asked, round_no=self._round, is_only=len(commands) == 1)
        self._checker.alone = self._probe.alone

    def _refuse_touched(self) -> None:
        named = ", ".join(f"{entry.path} ({entry.what})" for entry in self.touched[:TOUCHED_SHOWN])
        is_back = all(entry.restored for entry in self.touched)
        now = "it is as it was again" if is_back else "put it back"
        why = f"protected files were touched: {named}; {now}"
        self.verdicts.update({one.task: Verdict(RED, why=why) for one in self._due})

    def settle(self, state: LoopState) -> None:
        """Turn back what is not proven, in the agent's own file, and note the rest."""
        if self._need == PROBES:
            self._settle_probe(state)
            return
        try:
            listed, ledger = self._listed()
        except (ValueError, OSError):
            self._is_planned = False
        if not self._is_planned:
            self.results.unfinished = [THE_LIST]  # it broke meanwhile: judged when it can be read again
            return
        places = {task.id: place for place, task in enumerate(listed.tasks) if task.done}
        reopen, known_before = [], len(self.results.proven)
        self.results.unfinished = []
        for task, verdict in self.verdicts.items():
            known = _said(ledger, task)
            if task not in places or known != self._states.get(task, known):
                continue  # it was reopened, or the person spoke about it, while its check ran
            if verdict.state == RED:
                reopen.append(places[task])
            self._note(task, verdict, ledger=ledger, known=known)
        tasks.mark(self._loop.record, reopen, done=False)
        self._settle_list()
        is_red = bool(reopen or self.results.red)
        self.results.final = self._is_final and not (self.results.unfinished or is_red)
        self.results.unprobed = self.results.final and self._probe is not None
        if self.results.final and self._probe is None:
            self.results.doubts = self._doubts_vouched_for(ledger)
        if self.results.unfinished:
            self._put_off_questions()
        state.final_round = 0 if is_red else state.final_round
        state.final_tree = self._tree_after
        state.ledger += 1
        self._loop.save_ledger(ledger)
        for task in self.results.proven[known_before:]:  # who is killed before proves it again, unheard of
            evidence = self.verdicts[task].evidence
            self._loop.journal("proven", task=task, evidence=evidence, final=self._is_final)

    def _put_off_questions(self) -> None:
        if self._probe is not None:
            from ralphloop.proof import proof_record

            self._probe.put_off()
            proof_record.save(self._loop, self._probe.record)

    @property
    def asked(self) -> Answers | None:
        """What the questions have come to, where they were asked."""
        if self._need != PROBES or self._probe is None:
            return None
        return Answers(self._probe.record, is_all=self._is_asked, is_strict=self._probe.is_strict)

    def _settle_probe(self, state: LoopState) -> None:
        """Keep what was found, and tell it; where doubts are refused, some open their tasks again."""
        from ralphloop.proof import proof_record

        found = self.asked
        self.results.unprobed = False
        if found is None:
            return
        record = found.record
        self.results.unfinished = [] if found.is_all else [THE_LIST]
        if found.is_all:
            record = self._refuse_doubts(state, record) if found.is_strict else record
            known = self._doubts_vouched_for(self._loop.load_ledger())
            record = record._replace(findings=(*known, *record.findings))
            self.results.doubts = record.doubts
            for doubt in record.doubts:
                self._loop.journal("doubt", task=doubt.task, kind=doubt.kind, detail=doubt.said)
        proof_record.save(self._loop, record)

    def _doubts_vouched_for(self, ledger: Ledger) -> list[Finding]:
        """What was doubtful about tasks that the person has vouched for since, whose checks run no more."""
        from ralphloop.proof import proof_record

        doubts = proof_record.load(self._loop).doubts
        return [one for one in doubts if one.task and _said(ledger, one.task) == VOUCHED]

    def _refuse_doubts(self, state: LoopState, record: ProofRecord) -> ProofRecord:
        """Open a task again the first time, and ask the person the second."""
        from ralphloop.domain import finding

        refused = [doubt for doubt in record.doubts if doubt.kind in finding.REFUSED and doubt.task]
        again = self.results.insisted = record.insisted
        insisted = {doubt.task for doubt in again}
        new = {doubt.task: doubt for doubt in reversed(refused) if doubt.task not in insisted}
        if not new:
            return record
        listed, ledger = self._listed()
        places = {task.id: place for place, task in enumerate(listed.tasks) if task.done}
        tasks.mark(self._loop.record, [places[task] for task in new if task in places], done=False)
        for task, doubt in new.items():
            ledger.reopen(task)
            ledger.note(task, why=doubt.said)
            self.results.refused.append(self._refusal(task, Verdict(RED, why=doubt.said)))
        state.ledger, state.final_round = state.ledger + 1, 0
        self._loop.save_ledger(ledger)
        self.results.final = False
        told = (f"{one.kind} {one.task}" for one in refused if one.task in new)
        return record._replace(refused=(*record.refused, *told))

    def _settle_list(self) -> None:
        """Where the same command has opened tasks again, they are told about it."""
        verdict = self.verdicts.get("", Verdict(GREEN))
        if verdict.state == UNFINISHED:
            self.results.unfinished.append(THE_LIST)
        elif verdict.state == RED and verdict.command not in [one.command for one in self.results.refused]:
            self.results.red = [self._refusal("", verdict)]

    def _note(self, task: str, verdict: Verdict, *, ledger: Ledger, known: str) -> None:
        if verdict.state == GREEN and not verdict.evidence and not self._is_final:
            ledger.note(task, state=UNVERIFIED)  # nothing was run: it only kept its hands off protected files
        elif verdict.state == GREEN and (not self._is_final or known == UNVERIFIED):
            ledger.note(task, state=PROVEN, evidence=verdict.evidence)
            ledger.drop(task, "why")
            self.results.proven.append(task)
        elif verdict.state == RED:
            ledger.reopen(task)
            left_out = _said(ledger, task) in (SKIPPED, SET_ASIDE)
            if not left_out:  # why that is so stays known
                ledger.note(task, why=verdict.why)
            self.results.refused.append(self._refusal(task, verdict, left_out=left_out))
        elif verdict.state == UNFINISHED:
            self.results.unfinished.append(task)
        elif verdict.state == WAITS and self._goes_on_unverified:
            ledger.note(task, state=UNVERIFIED)

    @property
    def _goes_on_unverified(self) -> bool:
        """Whether a claim holds without its check, which nobody approved; one that was approved waits."""
        return not (self._waits_for_approval or self.results.blocked or self._is_final)

    def _refusal(self, task: str, verdict: Verdict, *, left_out: bool = False) -> Refusal:
        facts = {"task": task, "command": verdict.command, "evidence": verdict.evidence}
        self._loop.journal("refused", detail=verdict.why, final=self._is_final, **facts)
        return Refusal(
            task,
            why=verdict.why,
            command=verdict.command,
            tail=verdict.tail,
            again=self._is_final,
            left_out=left_out,
        )


def _said(ledger: Ledger, task: str) -> str:
    return ledger.tasks.get(task, {}).get("state", "")


def _due(task: Task, ledger: Ledger) -> Due:
    """That a check is not tried apart is the person's to say, and an added task is the agent's."""
    added = ledger.tasks.get(task.id, {}).get("added")
    return due(task)._replace(apart=task.apart or bool(added))


def is_due(task: Task, ledger: Ledger, *, final: bool) -> bool:
    said = ledger.state(task)
    if not task.done or (final and not task.verify):
        return False
    return said != VOUCHED if final else said == CLAIMED
