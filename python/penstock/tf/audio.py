"""`tf.audio`: WAV files of 16 bits.

>>> import penstock.tf as tf
>>> wav = tf.audio.encode_wav([[0.0], [0.5]], 16000)
>>> audio, rate = tf.audio.decode_wav(wav)
>>> audio.numpy().tolist(), int(rate)
([[0.0], [0.5]], 16000)
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf import _missing
from penstock.tf._values import Bytes, convert_to_tensor, wrap


def _chunks(data: bytes) -> dict[bytes, bytes]:
    """The chunks of a RIFF file by name; the first of a name counts."""
    if len(data) < 12 or data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise InvalidArgumentError("decode_wav: the contents are no WAV file")
    found: dict[bytes, bytes] = {}
    at = 12
    while at + 8 <= len(data):
        name = data[at : at + 4]
        (size,) = struct.unpack_from("<I", data, at + 4)
        if at + 8 + size > len(data):
            raise InvalidArgumentError(f"decode_wav: the chunk {name!r} is cut")
        found.setdefault(name, data[at + 8 : at + 8 + size])
        at += 8 + size + size % 2
    return found


def decode_wav(
    contents: Any,
    desired_channels: int = -1,
    desired_samples: int = -1,
    name: str | None = None,
) -> Any:
    """(float32 [samples, channels] between -1 and 1, samples per second)."""
    chunks = _chunks(bytes(convert_to_tensor(contents)))
    if len(chunks.get(b"fmt ", b"")) < 16 or b"data" not in chunks:
        raise InvalidArgumentError("decode_wav: the file has no format or no data")
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", chunks[b"fmt "])
    if kind != 1 or bits != 16 or channels == 0:
        raise InvalidArgumentError(
            f"decode_wav: only PCM of 16 bits is read, got kind {kind} of {bits} bits"
        )
    data = chunks[b"data"]
    whole = len(data) // (2 * channels) * 2 * channels
    samples = np.frombuffer(data[:whole], "<i2").reshape(-1, channels)
    made = samples.astype(np.float32) / np.float32(32768)
    if desired_channels > 0 and desired_channels != channels:
        if desired_channels < channels:
            made = made[:, :desired_channels]
        else:
            made = np.pad(made, ((0, 0), (0, desired_channels - channels)), "edge")
    if desired_samples > 0:
        made = made[:desired_samples]
        made = np.pad(made, ((0, desired_samples - len(made)), (0, 0)))
    return wrap(made), wrap(np.int32(rate))


def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Any:
    """float32 [samples, channels] as a WAV file of 16 bits."""
    values = np.asarray(convert_to_tensor(audio))
    if values.ndim != 2:
        raise InvalidArgumentError(
            f"encode_wav: audio must be [samples, channels], got {values.shape}"
        )
    scaled = np.clip(np.round(values * np.float32(32768)), -32768, 32767)
    data = scaled.astype("<i2").tobytes()
    channels, rate = values.shape[1], int(sample_rate)
    head = struct.pack(
        "<HHIIHH", 1, channels, rate, rate * channels * 2, channels * 2, 16
    )
    body = b"WAVEfmt " + struct.pack("<I", 16) + head
    body += b"data" + struct.pack("<I", len(data)) + data
    return Bytes(b"RIFF" + struct.pack("<I", len(body)) + body)


def __getattr__(name: str) -> Any:
    return _missing.resolve("audio", name)
