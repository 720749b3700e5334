"""A page a person works in: look, name, merge, move, and go round again; `legogcd review RUN` opens it."""
