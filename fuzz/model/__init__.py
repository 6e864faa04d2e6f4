"""The life of a loop as a state machine, with an oracle that says what each step must come to."""
