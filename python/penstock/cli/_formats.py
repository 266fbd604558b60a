"""What a file is, by its name and its first bytes."""

from __future__ import annotations

import gzip
import io
import os
import struct
import zlib

from penstock.cli._output import UsageError

IMAGES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp")
KINDS = ("tfrecord", "tar", "npy", "npz", "image", "csv", "jsonl", "folder", "text")

_BY_NAME = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".npy": "npy",
    ".npz": "npz",
    ".tar": "tar",
    ".tfrec": "tfrecord",
    ".tfrecord": "tfrecord",
    ".tfrecords": "tfrecord",
    ".tgz": "tar",
    ".txt": "text",
    **dict.fromkeys(IMAGES, "image"),
}


def kind_of(path: str, option: str = "--kind") -> str:
    """One of `KINDS`; what the content says counts before the name. `option` is
    how the user can say it.

    >>> kind_of("/")
    'folder'
    """
    if os.path.isdir(path):
        return "folder"
    if os.path.exists(path) and not os.path.isfile(path):
        # To open a pipe is to wait for who writes into it.
        raise UsageError(f"{path}: it is a pipe or a device, and no file")
    with open(path, "rb") as file:
        head = file.read(1024)
    content = _by_content(path, head)
    if content is not None:
        return content
    stem = os.path.basename(path).lower()
    for suffix in (".gz", ".zst", ".gzip"):
        stem = stem.removesuffix(suffix)
    named = _BY_NAME.get(os.path.splitext(stem)[1])
    if named is not None:
        return named
    if ".tfrecord" in stem:  # train.tfrecord-00000-of-00010
        return "tfrecord"
    raise UsageError(
        f"{path}: cannot tell what this is; known are TFRecord, tar, npy, npz, "
        f"images, csv and jsonl; {option} says it"
    )


def _by_content(path: str, head: bytes) -> str | None:
    if head[:6] == b"\x93NUMPY":
        return "npy"
    if image_type(head):
        return "image"
    if head[:4] == b"PK\x03\x04":
        return "npz"
    plain = _inflated(path, head)
    if plain[257:262] == b"ustar":
        return "tar"
    if is_tfrecord_header(plain):
        return "tfrecord"
    return None


def _inflated(path: str, head: bytes) -> bytes:
    if head[:2] == b"\x1f\x8b":
        try:
            with gzip.open(path) as file:
                return file.read(1024)
        except (OSError, EOFError, zlib.error):
            return b""
    if head[:1] == b"\x78" and int.from_bytes(head[:2], "big") % 31 == 0:
        try:
            return zlib.decompressobj().decompress(head, 1024)
        except zlib.error:
            return head
    return head


def is_number(text: str, kind: type[int] | type[float]) -> bool:
    """Whether a field of a table is one; Python's "1_000" is text elsewhere.

    >>> is_number("7", int), is_number("7.5", int), is_number("1_000", int)
    (True, False, False)
    """
    try:
        kind(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text


def is_tfrecord_header(head: bytes) -> bool:
    """Whether the length at the start has the checksum that stands beside it.

    >>> is_tfrecord_header(b"just a text of some length")
    False
    """
    if len(head) < 12:
        return False
    from penstock import _penstock

    (length,) = struct.unpack("<Q", head[:8])
    if length > 1 << 40:
        return False
    # The checksum is of the eight bytes of the length: those of a record that
    # holds nothing else tell how it is made.
    framed: bytes = _penstock.tfrecord_frame([head[:8]])
    return framed[20:24] == head[8:12]


def image_type(head: bytes) -> str:
    """
    >>> image_type(b"\\xff\\xd8\\xff\\xe0"), image_type(b"text")
    ('jpeg', '')
    """
    if head[:3] == b"\xff\xd8\xff":
        return "jpeg"
    if head[:8] == b"\x89PNG\r\n\x1a\n":
        return "png"
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return "gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if head[:2] == b"BM" and len(head) > 26 and head[6:10] == b"\0\0\0\0":
        return "bmp"
    return ""


def image_size(data: bytes) -> tuple[int, int, int] | None:
    """(height, width, channels) from the header alone; None if it is damaged."""
    try:
        return _SIZES[image_type(data)](data)
    except (KeyError, struct.error, IndexError):
        return None


def _jpeg_size(data: bytes) -> tuple[int, int, int]:
    stream = io.BytesIO(data)
    stream.seek(2)
    while True:
        marker = stream.read(2)
        if len(marker) < 2 or marker[0] != 0xFF:
            raise struct.error("no frame header")
        if marker[1] == 0xFF:  # padding
            stream.seek(-1, os.SEEK_CUR)
            continue
        (length,) = struct.unpack(">H", stream.read(2))
        if 0xC0 <= marker[1] <= 0xCF and marker[1] not in (0xC4, 0xC8, 0xCC):
            _, height, width, channels = struct.unpack(">BHHB", stream.read(6))
            return height, width, channels
        stream.seek(length - 2, os.SEEK_CUR)


def _png_size(data: bytes) -> tuple[int, int, int]:
    width, height, _, color = struct.unpack(">IIBB", data[16:26])
    return height, width, {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}.get(color, 0)


def _gif_size(data: bytes) -> tuple[int, int, int]:
    width, height = struct.unpack("<HH", data[6:10])
    return height, width, 3


def _bmp_size(data: bytes) -> tuple[int, int, int]:
    width, height, _, bits = struct.unpack("<iiHH", data[18:30])
    return abs(height), width, 4 if bits == 32 else 3


def _webp_size(data: bytes) -> tuple[int, int, int]:
    chunk = data[12:16]
    if chunk == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return height & 0x3FFF, width & 0x3FFF, 3
    if chunk == b"VP8L":
        (bits,) = struct.unpack("<I", data[21:25])
        alpha = (bits >> 28) & 1
        return (bits >> 14 & 0x3FFF) + 1, (bits & 0x3FFF) + 1, 3 + alpha
    if chunk == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        height = int.from_bytes(data[27:30], "little") + 1
        return height, width, 4 if data[20] & 0x10 else 3
    raise struct.error("unknown WebP chunk")


_SIZES = {
    "bmp": _bmp_size,
    "gif": _gif_size,
    "jpeg": _jpeg_size,
    "png": _png_size,
    "webp": _webp_size,
}
