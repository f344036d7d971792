"""Write survey.pdf: two pages with text, and a third that is a picture, as a scanner makes it.

Run by hand: python cookbook/data/pdf/make.py
"""

import zlib
from math import sin
from pathlib import Path

FIRST = """\
Tallow & Finch Surveyors Ltd                                   Report TF-3381

BUILDING SURVEY

Property:      12 Heron Quay, Saltmarsh
Client:        Juniper Housing Co-operative
Inspected on:  14 October 2025

1. Summary
The building of 1936 is sound. The roof needs repair before winter. We estimate
the cost of all repairs at 18,400.00 EUR.""".splitlines()

SECOND = """\
Report TF-3381                                                         page 2

2. Roof
About 35 slates are missing. The gutter on the north side leaks.
Estimated cost: 6,900.00 EUR.

3. Damp
The cellar wall shows a moisture content of 21 %. We recommend that a damp-
proof course is laid by Marlow Basement Works.
Estimated cost: 11,500.00 EUR.

4. Next inspection
To be inspected again by 30 April 2026.""".splitlines()


def stream(content: bytes, entries: str = "") -> bytes:
    """Return an object that holds data."""
    packed = zlib.compress(content, 9)
    head = f"<< /Length {len(packed)} /Filter /FlateDecode {entries}>>\nstream\n"
    return head.encode() + packed + b"\nendstream"


def typed(lines: list[str]) -> bytes:
    """Return a page of text in a font of fixed width."""
    shown = [
        f"({line.replace('(', '[').replace(')', ']')}) Tj T*" if line else "T*" for line in lines
    ]
    return stream("\n".join(["BT /F1 10 Tf 15 TL 56 780 Td", *shown, "ET"]).encode("cp1252"))


def scanned(width: int = 400, height: int = 560) -> bytes:
    """Return a picture: dark curves on white, which look like a letter in handwriting."""
    rows = [bytearray(b"\xff" * width) for _ in range(height)]
    for line in range(60, height - 120, 40):
        for x in range(40, width - 60):
            y = line + 7 * sin(x / 3.0) * sin(x / 17.0 + line)
            rows[int(y)][x] = rows[int(y) + 1][x] = 0x30
    size = f"/Width {width} /Height {height} /ColorSpace /DeviceGray /BitsPerComponent 8 "
    return stream(b"".join(rows), f"/Type /XObject /Subtype /Image {size}")


def page(content: int, resources: str) -> bytes:
    """Return a page of A4."""
    return (
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {content} 0 R "
        f"/Resources << {resources} >> >>"
    ).encode()


OBJECTS = [
    b"<< /Type /Catalog /Pages 2 0 R >>",
    b"<< /Type /Pages /Kids [3 0 R 4 0 R 5 0 R] /Count 3 >>",
    page(6, "/Font << /F1 9 0 R >>"),
    page(7, "/Font << /F1 9 0 R >>"),
    page(8, "/XObject << /Scan 10 0 R >>"),
    typed(FIRST),
    typed(SECOND),
    stream(b"q 595 0 0 842 0 0 cm /Scan Do Q"),
    b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
    scanned(),
]

pdf = bytearray(b"%PDF-1.4\n")
places = []
for number, content in enumerate(OBJECTS, start=1):
    places.append(len(pdf))
    pdf += b"%d 0 obj\n%s\nendobj\n" % (number, content)
start = len(pdf)
pdf += b"xref\n0 %d\n0000000000 65535 f \n" % (len(OBJECTS) + 1)
pdf += b"".join(b"%010d 00000 n \n" % place for place in places)
pdf += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(OBJECTS) + 1, start)
Path(__file__).with_name("survey.pdf").write_bytes(pdf)
