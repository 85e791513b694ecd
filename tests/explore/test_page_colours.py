"""Text on the page stands out from what is behind it, light and dark."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

CSS = files("equirl.lab.explore").joinpath("static", "base.css").read_text(encoding="utf-8")
THEMES = dict(zip(("light", "dark"), re.findall(r":root[^{]*\{([^}]*)\}", CSS)[:2], strict=True))
PAIRS = [
    *[(ink, ground) for ink in ("ink", "soft", "accent", "bad", "good") for ground in ("surface", "page")],
    ("on-accent", "accent"), ("bad", "bad-back"),
]  # fmt: skip


def luminance(colour):
    """As the WCAG define it."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_has_the_contrast_it_should():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("ink", "ground"), PAIRS)
def test_text_has_a_contrast_of_four_and_a_half(theme, ink, ground):
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", THEMES[theme]))
    assert contrast(colours[ink], colours[ground]) >= 4.5
