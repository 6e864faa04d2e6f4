"""Draws the plugins' icons: a loop around a tick. `python scripts/draw_icon.py` writes them anew."""

from __future__ import annotations

import math
import struct
import zlib
from pathlib import Path

SIZE = 512
SAMPLES = 3  # per side of a pixel, against jagged edges
PLUGINS = Path(__file__).resolve().parents[1] / "plugins"

Point = tuple[float, float]
Colour = tuple[int, int, int]

BACK, TICK = (24, 28, 38), (158, 206, 106)
RINGS: dict[str, Colour] = {
    "ralphloop": (122, 162, 247),
    "ralph-specum": (187, 154, 247),
    "ralph-speckit": (255, 158, 100),
}


def distance(point: Point, start: Point, end: Point) -> float:
    """From a point to the line between two others."""
    (x, y), (ax, ay), (bx, by) = point, start, end
    length = (bx - ax) ** 2 + (by - ay) ** 2
    along = max(0.0, min(1.0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length))
    return math.hypot(x - ax - along * (bx - ax), y - ay - along * (by - ay))


def colour(x: float, y: float, ring: Colour) -> Colour:
    tick = [(0.36, 0.50), (0.47, 0.61), (0.66, 0.38)]
    if min(distance((x, y), tick[0], tick[1]), distance((x, y), tick[1], tick[2])) < 0.035:
        return TICK
    radius, angle = math.hypot(x - 0.5, y - 0.5), math.degrees(math.atan2(0.5 - y, x - 0.5)) % 360
    if abs(radius - 0.34) < 0.04 and not 20 < angle < 62:
        return ring
    head = [(0.785, 0.29), (0.899, 0.355), (0.74, 0.413)]  # the arrow at the ring's end
    return ring if _inside((x, y), head) else BACK


def _inside(point: Point, corners: list[Point]) -> bool:
    turns = [
        (bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax)
        for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True)
    ]
    return all(turn >= 0 for turn in turns) or all(turn <= 0 for turn in turns)


def pixel(column: int, row: int, ring: Colour) -> bytes:
    steps = [(index + 0.5) / SAMPLES for index in range(SAMPLES)]
    seen = [colour((column + dx) / SIZE, (row + dy) / SIZE, ring) for dx in steps for dy in steps]
    return bytes(round(sum(channel) / len(seen)) for channel in zip(*seen, strict=True))


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(ring: Colour) -> bytes:
    rows = (b"\0" + b"".join(pixel(column, row, ring) for column in range(SIZE)) for row in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(rows), 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


if __name__ == "__main__":
    for name, ring in RINGS.items():
        (PLUGINS / name / ".claude-plugin/icon.png").write_bytes(png(ring))
