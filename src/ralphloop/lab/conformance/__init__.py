"""The conformance suite: cases as data, played against any Stop hook."""
