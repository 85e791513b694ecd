"""Films as files: GIF, which needs nothing more than figures do, and MP4, where the program ffmpeg is installed."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equirl.files.whole_files import check_place, write_aside
from equirl.lab.plots.canvas import COLOURS
from equirl.lab.plots.learning_frames import DARKEST, RED, Film, film_learning
from equirl.learners import Learner
from equirl.model import TabularMDP
from equirl.numerics.seeding import Seed
from equirl.words.checking import above

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAST_FRAME = 8  # times as long as the others


def animate_learning(
    mdp: TabularMDP,
    agent: str | Learner,
    path: str | os.PathLike[str],
    horizon: int = 20_000,
    seed: Seed = 0,
    *,
    frames: int = 40,
    seconds: float = 8.0,
    **settings: Any,
) -> Path:
    """Play a learner and write a film of it: what it holds alike, where it has been, what it would do, its regret.

    Parameters
    ----------
    mdp : TabularMDP
        What is played; on a map its states are drawn there, otherwise in lines.
    agent : str or Learner
        A name, or a learner, which is copied.
    path : str or path
        The file, ``.gif`` or ``.mp4``.
    horizon : int
        The number of steps.
    seed : int or SeedSequence
        From which all randomness follows.
    frames : int
        How many moments at most; see :func:`equirl.lab.plots.film_learning`.
    seconds : float
        How long the film lasts.
    **settings
        Settings of a learner given by name.

    Returns
    -------
    Path
        Where the film is.

    Raises
    ------
    ValueError
        For another ending, or for ``.mp4`` where ffmpeg is not installed.
    """
    check_film(path)
    return write_film(film_learning(mdp, agent, horizon, seed, frames=frames, **settings), path, seconds)


def check_film(path: str | os.PathLike[str]) -> None:
    """Check that a film can be written to a file; ask before long work."""
    ending = Path(path).suffix.lower()
    if ending not in (".gif", ".mp4"):
        raise ValueError(f"{path} does not end in a format of films: .gif or .mp4")
    if ending == ".mp4" and shutil.which("ffmpeg") is None:
        raise ValueError(f"{path} needs the program ffmpeg, which is not installed; .gif needs nothing more")
    check_place(path)


def write_film(film: Film, path: str | os.PathLike[str], seconds: float = 8.0, dpi: int = 80) -> Path:
    """Write a film. The file is whole or absent.

    Parameters
    ----------
    film : Film
        What :func:`equirl.lab.plots.film_learning` returns.
    path : str or path
        The file, ``.gif`` or ``.mp4``.
    seconds : float
        How long it lasts.
    dpi : int
        Dots per inch of its pictures.

    Returns
    -------
    Path
        Where the film is.
    """
    check_film(path)
    pause = above("seconds", seconds, 0, "shows nothing") / (len(film.moments) + LAST_FRAME - 1)
    first = film.frame(0)
    pictures = [_pixels(first, dpi)]
    for k in range(1, len(film.moments)):
        pictures.append(_pixels(_placed_as(first, film.frame(k)), dpi))
    pictures += [pictures[-1]] * (LAST_FRAME - 1)
    if Path(path).suffix.lower() == ".gif":
        return write_aside(path, _gif(pictures, pause))
    return write_aside(path, _mp4(pictures, pause, path))


def _placed_as(first: Figure, figure: Figure) -> Figure:
    """The figure with its axes where those of the first frame are: nothing jumps, and no place is looked for again."""
    figure.set_layout_engine("none")
    for model, axes in zip(first.axes, figure.axes, strict=True):
        axes.set_position(model.get_position(original=True))
    return figure


def _pixels(figure: Figure, dpi: int) -> np.ndarray:
    """(height, width, 3) a figure as it looks; both sizes even, as MP4 wants them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.set_dpi(dpi)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3]
    return pixels[: len(pixels) // 2 * 2, : pixels.shape[1] // 2 * 2].copy()


def _gif(pictures: list[np.ndarray], pause: float) -> bytes:
    from PIL import Image

    palette, images = _palette(), []
    for pixels in pictures:
        image = Image.fromarray(_nearest(pixels, palette))
        image.putpalette(palette.ravel().tolist())
        images.append(image)
    buffer = io.BytesIO()
    images[0].save(
        buffer, "gif", save_all=True, append_images=images[1:], duration=round(1000 * pause), loop=0, optimize=True
    )
    return buffer.getvalue()


def _nearest(pixels: np.ndarray, palette: np.ndarray) -> np.ndarray:
    """(height, width) the number of the nearest colour of the palette."""
    packed = pixels.astype(np.int64) @ [1 << 16, 1 << 8, 1]
    found, where = np.unique(packed, return_inverse=True)
    colours = found[:, None].astype(np.int64) >> np.array([16, 8, 0]) & 255
    apart = ((colours[:, None] - palette[None].astype(np.int64)) ** 2).sum(axis=2)
    return apart.argmin(axis=1)[where].reshape(packed.shape).astype(np.uint8)


def _palette() -> np.ndarray:
    """(n, 3) the colours of frames, the same in all of them: small files in which no colour drifts."""
    from matplotlib.colors import to_rgb

    named = np.array([*map(to_rgb, COLOURS), to_rgb(RED)])
    pale = 0.5 + 0.5 * named  # of edges that are smoothed
    grey = np.linspace(0, 1, 24)[:, None] * np.ones(3)
    blue = 1 - np.linspace(0, 1, 24)[:, None] * (1 - DARKEST)
    return np.rint(255 * np.concatenate([named, pale, grey, blue])).astype(np.uint8)


def _mp4(pictures: list[np.ndarray], pause: float, path: str | os.PathLike[str]) -> bytes:
    height, width, _ = pictures[0].shape
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "film.mp4"
        raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{1 / pause:.6f}", "-i", "-"]
        command = ["ffmpeg", "-loglevel", "error", *raw, "-pix_fmt", "yuv420p", str(file)]
        done = subprocess.run(
            command, input=b"".join(map(np.ndarray.tobytes, pictures)), capture_output=True, check=False
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise OSError(errno.EIO, f"ffmpeg could not write the film: {said}", os.fspath(path))
        return file.read_bytes()
