"""``python -m thymus.cli``."""

from thymus.cli import main

main()
