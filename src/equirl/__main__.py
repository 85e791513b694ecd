"""The command ``equirl``, also as ``python -m equirl`` where its script is not on the path."""

from __future__ import annotations

from equirl.core.interrupts import interrupts_end_loading


def main() -> None:
    """Load the command and run it."""
    with interrupts_end_loading():
        from equirl.cli import app
    app(prog_name="equirl")


if __name__ == "__main__":
    main()
