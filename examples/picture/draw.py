#!/usr/bin/env python3
"""Draws coins.png, the example's input: discs of four sizes on an uneven cloth, with noise.

    examples/picture/draw.py [coins.png]
"""
import math
import random
import struct
import sys
import zlib

WIDTH, HEIGHT = 320, 240
# Centre and radius. The example's test has the same list.
COINS = [(46, 52, 20), (110, 40, 14), (172, 60, 25), (250, 44, 20), (292, 110, 14), (60, 130, 25), (128, 118, 20),
         (214, 140, 20), (40, 206, 14), (112, 192, 25), (176, 200, 14), (262, 196, 25)]


def shade(x, y, noise):
    """Red, green and blue of a pixel."""
    light = 62 + 26 * x / WIDTH + 18 * y / HEIGHT + 6 * math.sin(x / 19) * math.sin(y / 23)
    tint = (0.55, 0.75, 0.85)
    for cx, cy, radius in COINS:
        inside = radius + 0.5 - math.hypot(x - cx, y - cy)
        if inside > 0:
            rim = 18 if 1.5 < inside < 3.5 else 0
            light += min(inside, 1) * (95 - 25 * (x - cx + y - cy) / radius / 2 - rim)
            tint = (1.0, 0.82, 0.45)
    light += noise
    return bytes(max(0, min(255, round(light * part))) for part in tint)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def main():
    noise = random.Random(1)
    rows = b"".join(
        b"\0" + b"".join(shade(x, y, noise.choice((-4, 0, 0, 4))) for x in range(WIDTH)) for y in range(HEIGHT))
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    with open(sys.argv[1] if len(sys.argv) > 1 else "coins.png", "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) +
                   chunk(b"IEND", b""))


main()
