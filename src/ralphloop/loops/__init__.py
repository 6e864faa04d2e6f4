"""What a person or a program can do with a loop: values in, a result out."""
