"""The rules of a loop: pure data and decisions, no IO."""
