"""``python -m legogcd`` is the command line, for launchers that start modules: ``torchrun -m legogcd discover ...``."""

from legogcd.cli import main

main()
