"""What every layout promises of its pinned criteria, whatever an agent does to the file."""

from __future__ import annotations

import random

import pytest

from contract.tampering import BoxCase, FeatureCase
from contract.test_layouts import TEXTS, module, mutations
from ralphloop.domain.additions import names
from ralphloop.tasklists.registry import LAYOUTS, layout
from unit.layouts import FEATURES, SPECKIT, SPECUM

CASES = {FEATURES: FeatureCase, SPECUM: BoxCase, SPECKIT: BoxCase}
SEEDS = range(250)
every = pytest.mark.parametrize("name", LAYOUTS)
seeded = pytest.mark.parametrize("case", TEXTS)


def restore(name, texts, pinned):
    return layout(name).restore(texts, pinned)


def criteria(found, texts):
    """What a task asks for, by name."""
    tasks = found.parse(texts).tasks
    return {
        name: (task.title, task.steps, task.verify, task.marks, task.timeout_s, task.needs_human)
        for name, task in zip(names(tasks), tasks, strict=True)
    }


def hold(found, texts, pinned):
    """Whether everything that the pinned list asks for is asked for; who waits for a person may grow."""
    now, then = criteria(found, texts), criteria(found, pinned)
    kept = {name: 6 if told[5] else 5 for name, told in then.items()}
    return {name: now.get(name, ())[:count] for name, count in kept.items()} == {
        name: then[name][:count] for name, count in kept.items()
    }


def dealt(name, seed):
    dice = random.Random(f"{name} {seed}")
    pinned = CASES[name](dice)
    worked = pinned.copy()
    worked.work(dice)
    return dice, pinned, worked


@every
def test_a_list_that_nobody_touched_stays_as_it_is(name):
    for seed in SEEDS:
        _, pinned, _ = dealt(name, seed)
        found = restore(name, {pinned.role: pinned.text()}, {pinned.role: pinned.text()})
        assert (found.texts, found.faults, found.added) == ({}, [], []), seed


@every
def test_an_agents_own_work_is_left_as_it_is(name):
    for seed in SEEDS:
        _, pinned, worked = dealt(name, seed)
        found = restore(name, {pinned.role: worked.text()}, {pinned.role: pinned.text()})
        assert (found.texts, found.faults) == ({}, []), seed
        assert len(found.added) == len(worked.added), seed


@every
def test_what_was_tampered_with_comes_back_and_every_other_byte_stays(name):
    for seed in SEEDS:
        dice, pinned, worked = dealt(name, seed)
        left, right = worked.tamper(dice, pinned)
        role, before = worked.role, {worked.role: pinned.text()}
        found = restore(name, {role: left.text()}, before)
        after = {role: found.texts.get(role, left.text())}
        assert after[role] == right.text(), seed
        assert bool(found.faults) == (left.text() != right.text()) == bool(found.texts), seed
        assert hold(layout(name), after, before), seed
        assert len(found.added) == len(worked.added), seed
        again = restore(name, after, before)
        assert (again.texts, again.faults, again.added) == ({}, [], found.added), seed


@seeded
def test_whatever_happens_to_the_file_the_criteria_hold_afterwards(case):
    dice = random.Random(case)
    found = module(case)
    roles = [role for role in found.TRAITS.truth if role != "state" and TEXTS[case].get(role) is not None]
    for _ in range(400 if roles else 0):
        role = dice.choice(roles)
        texts = {**TEXTS[case], role: mutations(TEXTS[case][role], dice)}
        restored = found.restore(texts, TEXTS[case])
        assert set(restored.texts) <= {role}
        assert bool(restored.texts) == bool(restored.faults)
        after = {**texts, **restored.texts}
        assert hold(found, after, TEXTS[case])
        again = found.restore(after, TEXTS[case])
        assert (again.texts, again.faults) == ({}, [])
        assert not set(restored.added) - set(again.added)


def test_the_order_of_tasks_is_free():
    for case in [case for case, texts in TEXTS.items() if texts.get("tasks") is not None]:
        found = module(case)
        pieces = [task.body for task in found.parse(TEXTS[case]).tasks]
        texts = {"state": None, "list": None, "tasks": "\n".join(pieces[::-1])}
        assert found.restore(texts, TEXTS[case]).faults == [], case


def test_a_file_that_is_gone_comes_back_as_it_was_pinned():
    for case, texts in TEXTS.items():
        for role, text in texts.items():
            restored = module(case).restore({**texts, role: None}, texts)
            if role in ("list", "tasks") and text is not None:
                assert (restored.texts, restored.faults) == ({role: text}, [("", "removed")]), (case, role)
            else:
                assert (restored.texts, restored.faults) == ({}, []), (case, role)


def test_without_pins_there_is_nothing_to_put_back():
    for case, texts in TEXTS.items():
        restored = module(case).restore(texts, {})
        assert (restored.texts, restored.faults, restored.added) == ({}, [], []), case


def test_only_a_feature_list_names_files_to_protect():
    for case, texts in TEXTS.items():
        assert module(case).protect(texts) == [], case
