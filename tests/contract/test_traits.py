"""What every layout must offer: each function of the protocol, and each trait with a sensible value."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from contract.test_layouts import TEXTS, module
from ralphloop.domain.layout import LOG, RECOVER, TELL, Traits
from ralphloop.tasklists import source
from ralphloop.tasklists.registry import LAYOUTS, layout, traits

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
# as far as they show in a value: the others are text
NEEDED = ("plugin", "kind", "closing", "at_limit")
FLAGS = ("delegates", "waits_for_approval", "rests_empty", "tells_completion")

every = pytest.mark.parametrize("name", LAYOUTS)


def offered() -> dict[str, list[str]]:
    """The functions of the protocol, each with the names of what it is given."""
    tree = ast.parse(Path(source.__file__).read_text(encoding="utf-8"))
    (protocol,) = [
        node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == "Layout"
    ]
    functions = [node for node in protocol.body if isinstance(node, ast.FunctionDef)]
    return {one.name: list(arguments(one.args))[1:] for one in functions}


def arguments(args: ast.arguments):
    yield from (arg.arg for arg in args.args)
    yield from ([args.vararg.arg] if args.vararg else [])
    yield from (arg.arg for arg in args.kwonlyargs)


def commands(plugin: str) -> set[str]:
    folder = PLUGINS / plugin
    return {path.stem for path in folder.glob("commands/*.md")} | {
        path.parent.name for path in folder.glob("skills/*/SKILL.md")
    }


@every
def test_it_has_every_function_of_the_protocol(name):
    found = {
        called: list(inspect.signature(getattr(layout(name), called)).parameters) for called in offered()
    }
    assert found == offered()
    assert len(found) == 9


@every
def test_its_traits_are_complete(name):
    said = traits(name)
    assert isinstance(said, Traits)
    values = {slot: getattr(said, slot) for slot in Traits.__annotations__}
    assert all(values[slot] for slot in NEEDED)
    assert {type(values[slot]) for slot in FLAGS} == {bool}
    assert said.at_limit in (TELL, RECOVER, LOG)
    assert isinstance(said.iterations, int)


@every
def test_its_files_are_told_by_role_and_those_that_decide_are_among_them(name):
    said = traits(name)
    assert set(said.truth) <= set(said.files)
    assert (said.own, said.criteria) == (said.truth[0], said.truth[-1])
    found = {"/p/specs/.current-spec": "a", "/p/.specify/.current-feature": "a"}
    listed = layout(name).locate("/p", env={}, read=found.get, names=lambda folder: [*said.files.values()])
    assert listed
    for one in listed:
        assert {role: path.rpartition("/")[2] for role, path in one.paths.items()} == said.files


def test_no_two_have_the_same_plugin_or_own_file():
    owned = [traits(name).files[traits(name).own] for name in LAYOUTS]
    assert len({*owned}) == len({traits(name).plugin for name in LAYOUTS}) == len(LAYOUTS)


@every
def test_a_pointer_leads_to_it_where_settings_can_switch_it_off(name):
    assert bool(layout(name).places("/p", {})) == bool(traits(name).settings)


@every
def test_the_plugin_has_every_command_that_people_are_told_to_type(name):
    said = traits(name)
    wanted = {said.action} if said.action else {"start", "resume"}
    wanted |= {"switch"} if said.settings else set()
    assert {"approve", *wanted, *said.phases} <= commands(said.plugin)
    assert said.typed("approve") == f"/{said.plugin}:approve"


@every
def test_phases_lead_to_an_action_and_are_counted_in_turns(name):
    said = traits(name)
    assert bool(said.phases) == bool(said.action) == bool(said.iterations)


def test_a_list_as_it_was_pinned_has_no_task_too_many():
    for case, texts in TEXTS.items():
        found = module(case)
        pinned = texts[found.TRAITS.criteria] or ""
        held = found.hold_additions(texts, pinned, known=set(), modified={})
        assert held == ({}, [], []), case


def test_a_name_that_no_layout_has_is_refused():
    with pytest.raises(ValueError, match="no such layout: boxes"):
        layout("boxes")


def test_traits_of_which_one_is_missing_or_unknown_are_refused():
    said = {slot: getattr(traits(LAYOUTS[0]), slot) for slot in Traits.__annotations__}
    assert Traits(**said).typed("x") == "/ralphloop:x"
    with pytest.raises(AssertionError):
        Traits(**said, colour="red")
    del said["voice"]
    with pytest.raises(AssertionError, match="voice"):
        Traits(**said)
