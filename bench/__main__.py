"""``python -m bench`` is ``python -m bench.speed``."""

from bench.speed.__main__ import main

if __name__ == "__main__":
    main()
