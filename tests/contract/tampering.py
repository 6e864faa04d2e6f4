"""Task lists in pieces: what an agent may do to one, what it may not, and how each edit has to end."""

from __future__ import annotations

FIELDS = {
    "id": '"F0"',
    "description": '"nothing"',
    "title": '"T\\u00e9"',
    "steps": '["a",  "b \\ud83d\\ude42"]',
    "verify": '"true"',
    "timeout_s": "1.50",
}
FREE = {
    "passes": "true",
    "notes": '"é ☕ {[,"',
    "deep": '{"x": [ {"verify": "y"} , []]}',
    "priority": "1e2",
}


class FeatureCase:
    """A feature list in pieces: members as they are written, so that each edit has one exact result."""

    role = "list"

    def __init__(self, dice):
        self.newline = dice.choice(["\n", "\r\n", ""])
        self.tab = dice.choice(["  ", "\t", "    "]) if self.newline else ""
        self.colon = dice.choice([": ", ":", " : "])
        self.gap = dice.choice(["", " "])
        self.head, self.tail = dice.choice(["", "\ufeff"]), dice.choice(["", "\n", "\r\n"])
        self.bare = dice.random() < 0.3
        self.shared = {"über": '"x"', "verify": dice.choice(['"make test"', '["a", "b"]']), "features": ""}
        if dice.random() < 0.5:
            self.shared["protect"] = '["tests/**"]'
        self.features = [self.feature(dice, number) for number in range(dice.randint(2, 6))]
        self.added = []

    def feature(self, dice, number):
        members = {"id": f'"F{number}"', "description": f'"does\\t{number}"', "passes": "false"}
        extra = [name for name in ("title", "steps", "verify", "timeout_s") if dice.random() < 0.5]
        members.update({name: FIELDS[name] for name in extra})
        if dice.random() < 0.3:
            members["needs_human"] = '"a key"'
        return shuffled(members, dice)

    def copy(self):
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.shared, twin.features = dict(self.shared), [dict(item) for item in self.features]
        twin.added = list(self.added)
        return twin

    def text(self):
        items = [self.wrap(self.members(item), "{}", 2) for item in self.features + self.added if item]
        array = self.wrap(items, "[]", 1)
        whole = array if self.bare else self.wrap(self.members({**self.shared, "features": array}), "{}", 0)
        return self.head + whole + self.tail

    def members(self, item):
        return [f'"{name}"{self.colon}{raw}' for name, raw in item.items()]

    def wrap(self, parts, ends, depth):
        inner = self.newline + self.tab * (depth + 1)
        outer = self.newline + self.tab * depth
        return ends[0] + inner + ("," + (inner or self.gap)).join(parts) + outer + ends[1]

    def work(self, dice):
        """What is the agent's to do: claims, fields of its own, new features."""
        for item in self.features:
            for name in dice.sample(sorted(FREE), dice.randrange(3)):
                item[name] = FREE[name]
            if "needs_human" not in item and dice.random() < 0.2:
                item["needs_human"] = '"who?"'
        for number in range(dice.randrange(3)):
            self.added.append(
                {"id": f'"N{number}"', "description": '"new"', "verify": '"x"', "passes": "true"}
            )

    def tamper(self, dice, pinned):
        """Two of these after one random deed each: as it is left, and as it has to be."""
        left, right = self.copy(), self.copy()
        for place in dice.sample(range(len(self.features)), dice.randint(1, len(self.features))):
            self.harm(left.features, right.features, place, dice=dice, pinned=pinned)
        if not any(left.features):
            left.features[0], right.features[0] = self.features[0], self.features[0]
        if not self.bare and dice.random() < 0.5:
            name = dice.choice(["verify", "protect"])
            deed = "drop" if name in pinned.shared and dice.random() < 0.5 else "change"
            self.change(left.shared, right.shared, name, raw=None if deed == "drop" else '"**"')
        return left, right

    def harm(self, left, right, place, *, dice, pinned):
        names = [name for name in FIELDS if name != "id" or len(left[place]) > 2]
        name = dice.choice(names)
        raw = dice.choice([None, self.other(name)])
        if dice.random() < 0.3:
            left[place], right[place] = {}, pinned.features[place]
        elif raw is not None or name in left[place]:
            self.change(left[place], right[place], name, raw=raw)
            left[place] = shuffled(left[place], dice) if name not in right[place] else left[place]
            self.keep_order(left[place], right[place])

    def other(self, name):
        return {"timeout_s": "true", "steps": "[]", "id": None}.get(name, '"other"')

    def change(self, left, right, name, *, raw):
        if raw is not None:
            left[name] = raw
        elif name in left:
            del left[name]
            right[name] = right.pop(name)

    def keep_order(self, left, right):
        """What is right keeps the order of what was left; only a lost field goes to the end."""
        order = [name for name in left if name in right] + [name for name in right if name not in left]
        members = dict(right)
        right.clear()
        right.update({name: members[name] for name in order})


def shuffled(members, dice):
    keys = list(members)
    dice.shuffle(keys)
    return {key: members[key] for key in keys}


class BoxCase:
    """A tasks.md in pieces: groups of blocks of rows."""

    role = "tasks"

    def __init__(self, dice):
        self.newline = dice.choice(["\n", "\r\n"])
        self.gap = self.newline * dice.choice([1, 2])
        self.head, self.tail = dice.choice(["", "\ufeff"]), dice.choice(["", self.newline])
        self.tab = dice.choice(["  ", "\t", "    "])
        self.groups = [
            [self.block(dice, f"{group}.{number}") for number in range(1, dice.randint(2, 5))]
            for group in (1, 2)
        ]
        self.added = []

    def block(self, dice, name):
        below = [
            f"- **Do**: {name}",
            f"1. [ ] first {name}",
            f"- [ ] nested [x] {name}",
            f"- **Verify**: `make '[x]' {name}`",
            "```",
            f"- [ ] code {name}",
            "```",
        ]
        rows = [f"- [ ] {name} [P] task {name} é", *[self.tab + row for row in below]]
        rows.insert(4, "")
        rows.append(f"Prose on {name}.  ")
        cut = dice.randint(1, len(rows))
        return rows[:6] if cut in (5, 7, 8) else rows[:cut]

    def copy(self):
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.groups = [[list(block) for block in group] for group in self.groups]
        twin.added = list(self.added)
        return twin

    def text(self):
        parts = ["# Tasks"]
        for group in self.groups:
            parts += ["## Group, free text", *[self.newline.join(block) for block in group if block]]
            parts += self.added if group is self.groups[-1] else []
            parts += ["**Checkpoint**: free as well"] if self.gap != self.newline else []
        return self.head + self.gap.join(parts) + self.tail

    def work(self, dice):
        for block in self.blocks():
            for at, row in enumerate(block):
                if dice.random() < 0.3 and "**" not in row:
                    block[at] = row.replace("[ ]", "[x]", 1)
            if dice.random() < 0.3:
                block.insert(dice.randint(1, len(block)), f"{self.tab}- noted: done")
        for number in range(dice.randrange(3)):
            self.added.append(f"- [ ] 9.{number} new{self.newline}{self.tab}- **Verify**: `x`")

    def blocks(self):
        return [block for group in self.groups for block in group]

    def tamper(self, dice, pinned):
        left, right = self.copy(), self.copy()
        for lefts, rights, pins in zip(left.groups, right.groups, pinned.groups, strict=True):
            for place in range(len(pins)):
                if place and dice.random() < 0.3:
                    lefts[place], rights[place] = [], pins[place]
                elif dice.random() < 0.5 or (lefts is left.groups[0] and place == 0):
                    self.harm(lefts[place], dice)
                    rights[place] = self.expected(pins[place], lefts[place])
        return left, right

    def harm(self, block, dice):
        """Change the title, or lose, change or add something below it."""
        at = dice.randrange(len(block))
        if at == 0 or not block[at] or "noted" in block[at] or "Prose" in block[at]:
            block[0] = block[0].replace("task", "easier task")
        elif dice.random() < 0.3:
            block.insert(1, f"{self.tab}- **Verify**: `true`")
        elif dice.random() < 0.5 and "```" not in block[at]:
            del block[at]
            while not block[-1]:
                block.pop()
        elif "`" in block[at]:
            block.insert(1, f"{self.tab}Verify: `echo`")
        else:
            block[at] += " (or not)"

    def expected(self, pinned, present):
        now = {self.cleared(row): row for row in present[1:]}
        title = present[0][:5] + pinned[0][5:]
        return [title, *[now.get(self.cleared(row), row) for row in pinned[1:]]]

    def cleared(self, row):
        is_checked = row.partition("]")[0].endswith("[x") and "**" not in row
        return row.replace("[x]", "[ ]", 1) if is_checked else row
