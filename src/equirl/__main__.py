"""The command ``equirl``, also as ``python -m equirl`` where its script is not on the path."""

from __future__ import annotations

from equirl.words.loading import InterruptsEndLoading


def main() -> None:
    """Load the command and run it."""
    with InterruptsEndLoading():
        from equirl.lab.cli import app
    app(prog_name="equirl")


if __name__ == "__main__":
    main()
