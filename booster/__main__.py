"""`python -m booster` is the `booster` command."""

from booster.cli import main

main()
