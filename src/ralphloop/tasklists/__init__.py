"""Task lists: text to tasks and back, one module per layout."""
