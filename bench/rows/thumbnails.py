"""Processing of images with 12 and 24 megapixels, beside vipsthumbnail of libvips on the same files.

An upload needs a large version, a thumbnail and a blurhash. Roost creates all of them in one pass, in two processes
with one thread each. vipsthumbnail creates the two versions in two passes with two threads, and no blurhash. Both use
the same qualities, and so many files that the start-up time does not matter.
"""

import json
import subprocess
import time
from statistics import median

from bench.table import Row

SIZES = {12: (4000, 3000), 24: (6000, 4000)}
ROUNDS = 5
FILES = 12
MEMORY = 60e6
TARGET = 0.95
SAVED = "[Q={quality},optimize_coding,strip]"


def measure(bench):
    directory = bench.directory("thumbnails")
    rows = []
    for megapixels, size in SIZES.items():
        photo = _photo(directory, megapixels, *size)
        ours, theirs, peaks = [], [], []
        for number in range(ROUNDS + 1):
            report = _ours(bench, directory, photo)
            rate = _theirs(directory, photo)
            # The first round is a warm-up.
            if number:
                ours.append(report["perSecond"])
                theirs.append(rate)
                peaks.append(report["peakBytes"])
        ratio = median(ours) / median(theirs)
        what = f"image of {megapixels} megapixels, large version and thumbnail"
        target = f"≥ {TARGET} ×"
        rows.append(
            Row(what, "photos/s", median(ours), "vipsthumbnail, twice", median(theirs), target, ratio >= TARGET)
        )
        peak = max(peaks)
        rows.append(Row(what, "MB, peak of a worker", peak / 1e6, "", None, f"≤ {MEMORY / 1e6:.0f}", peak <= MEMORY))
    return rows


def _photo(directory, megapixels, width, height):
    """Creates clouds of three colours under noise, with as many bytes as a phone's photo."""
    photo = directory / f"{megapixels}.jpg"
    made = {name: directory / f"{name}.v" for name in ("clouds", "bright", "grain", "one", "all", "bytes")}
    for command in (
        ["perlin", made["clouds"], width, height, "--cell-size", 300],
        ["linear", made["clouds"], made["bright"], 90, 128],
        ["gaussnoise", made["grain"], width, height, "--mean", 0, "--sigma", 12],
        ["add", made["bright"], made["grain"], made["one"]],
        ["bandjoin", f"{made['one']} {made['bright']} {made['one']}", made["all"]],
        ["cast", made["all"], made["bytes"], "uchar"],
        ["copy", made["bytes"], f"{photo}[Q=92]"],
    ):
        subprocess.run(["vips", *map(str, command)], check=True)
    for path in made.values():
        path.unlink()
    return photo


def _ours(bench, directory, photo):
    command = [bench.binaries / "image-load", "--rounds", FILES, "--folder", directory / "made", photo]
    return json.loads(subprocess.run([str(word) for word in command], check=True, capture_output=True).stdout)


def _theirs(directory, photo):
    """Runs vipsthumbnail, which gets the same file many times and overwrites its output."""
    began = time.monotonic()
    for side, quality in ((1280, 82), (640, 78)):
        output = f"{directory}/theirs-{side}.jpg{SAVED.format(quality=quality)}"
        command = ["vipsthumbnail", "--size", f"{side}x{side}>", "--output", output, *[str(photo)] * FILES]
        subprocess.run(command, check=True)
    return FILES / (time.monotonic() - began)
