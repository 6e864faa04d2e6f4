"""The conformance suite for the tests of other projects (docs/conformance.md)."""
