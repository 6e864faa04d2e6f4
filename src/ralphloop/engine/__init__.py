"""One stop of a loop: which loop it is about, what the rules make of it, what is written and done then."""
