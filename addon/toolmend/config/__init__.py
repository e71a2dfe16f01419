"""What can be set: the keys, the files and options they are read from, and the checks; all of it ends up in `Settings`."""
