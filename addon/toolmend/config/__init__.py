"""The settings: options, variables and files, precedence and checks; all of it ends in `Settings`."""
