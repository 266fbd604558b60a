"""`tf.signal`: windows, Fourier transforms and mel spectra. They run as Python.

>>> import numpy as np, penstock.tf as tf
>>> wave = np.sin(np.arange(64, dtype=np.float32) * np.pi / 4)
>>> spectrum = tf.abs(tf.signal.stft(wave, frame_length=16, frame_step=8))
>>> spectrum.shape, int(tf.argmax(spectrum[0]))
(TensorShape([7, 9]), 2)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf import _missing
from penstock.tf._apply import eager_only, traceable
from penstock.tf._dtypes import float32, numpy_dtype
from penstock.tf._values import convert_to_tensor, wrap


def _array(op: str, value: Any) -> Any:
    eager_only(op, value)
    return np.asarray(convert_to_tensor(value))


def _complex(values: Any, like: Any) -> Any:
    wide = like.dtype in (np.float64, np.complex128)
    return wrap(values.astype(np.complex128 if wide else np.complex64))


# --- windows ------------------------------------------------------------------------


def _cosine(length: Any, periodic: Any, dtype: Any, a: float, b: float) -> Any:
    size = int(length)
    if size == 1:
        return wrap(np.ones(1, numpy_dtype(dtype)))
    # Windows of an odd length are symmetric either way.
    span = size - 1 + (bool(periodic) and size % 2 == 0)
    made = a - b * np.cos(2 * np.pi * np.arange(size) / span)
    return wrap(made.astype(numpy_dtype(dtype)))


@traceable
def hann_window(
    window_length: Any,
    periodic: Any = True,
    dtype: Any = float32,
    name: str | None = None,
) -> Any:
    """The window of von Hann."""
    return _cosine(window_length, periodic, dtype, 0.5, 0.5)


@traceable
def hamming_window(
    window_length: Any,
    periodic: Any = True,
    dtype: Any = float32,
    name: str | None = None,
) -> Any:
    """The window of Hamming."""
    return _cosine(window_length, periodic, dtype, 0.54, 0.46)


@traceable
def kaiser_window(
    window_length: Any,
    beta: Any = 12.0,
    dtype: Any = float32,
    name: str | None = None,
) -> Any:
    """The window of Kaiser."""
    made = np.kaiser(int(window_length), float(beta))
    return wrap(made.astype(numpy_dtype(dtype)))


# --- frames and transforms ------------------------------------------------------------


@traceable
def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Any:
    """A signal in frames that may overlap.

    >>> import penstock.tf as tf
    >>> tf.signal.frame([1, 2, 3, 4, 5], 3, 2).numpy().tolist()
    [[1, 2, 3], [3, 4, 5]]
    """
    x = np.moveaxis(_array("frame", signal), int(axis), -1)
    length, step = int(frame_length), int(frame_step)
    size = x.shape[-1]
    count = -(-size // step) if pad_end else max(0, (size - length) // step + 1)
    missing = max(0, (count - 1) * step + length - size)
    if pad_end and missing:
        widths = [(0, 0)] * (x.ndim - 1) + [(0, missing)]
        x = np.pad(x, widths, constant_values=pad_value)
    places = np.arange(count)[:, None] * step + np.arange(length)
    made = x[..., places]
    at = int(axis) % x.ndim
    return wrap(np.ascontiguousarray(np.moveaxis(made, (-2, -1), (at, at + 1))))


def _sized(x: Any, length: Any) -> int | None:
    if length is None:
        return None
    return int(np.asarray(length).reshape(-1)[0])


@traceable
def rfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Any:
    """The Fourier transform of real values, along the last axis."""
    x = _array("rfft", input_tensor)
    return _complex(np.fft.rfft(x, _sized(x, fft_length)), x)


@traceable
def irfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Any:
    """The real values of a Fourier transform, along the last axis."""
    x = _array("irfft", input_tensor)
    made = np.fft.irfft(x, _sized(x, fft_length))
    return wrap(made.astype(np.float64 if x.dtype == np.complex128 else np.float32))


@traceable
def fft(input: Any, name: str | None = None) -> Any:
    """The Fourier transform of complex values, along the last axis."""
    x = _array("fft", input)
    return _complex(np.fft.fft(x), x)


@traceable
def ifft(input: Any, name: str | None = None) -> Any:
    """The complex values of a Fourier transform, along the last axis."""
    x = _array("ifft", input)
    return _complex(np.fft.ifft(x), x)


@traceable
def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Any:
    """The Fourier transforms of short frames: [..., frames, bins]."""
    x = _array("stft", signals)
    frames = np.asarray(frame(x, frame_length, frame_step, pad_end))
    length = int(frame_length)
    size = 1 << (length - 1).bit_length() if fft_length is None else int(fft_length)
    if window_fn is not None:
        frames = frames * np.asarray(window_fn(length, dtype=frames.dtype))
    return _complex(np.fft.rfft(frames, size), x)


_DCT: dict[int, Callable[[Any, Any, int], Any]] = {
    1: lambda k, n, size: 2 * np.cos(np.pi * k * n / (size - 1)),
    2: lambda k, n, size: 2 * np.cos(np.pi * k * (2 * n + 1) / (2 * size)),
    3: lambda k, n, size: 2 * np.cos(np.pi * n * (2 * k + 1) / (2 * size)),
    4: lambda k, n, size: 2 * np.cos(np.pi * (2 * n + 1) * (2 * k + 1) / (4 * size)),
}


@traceable
def dct(
    input: Any,
    type: int = 2,
    n: Any = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """The cosine transform of type 1, 2, 3 or 4, along the last axis."""
    if type not in _DCT or int(axis) != -1 or norm not in (None, "ortho"):
        raise ValueError(
            f"dct: type must be 1 to 4, axis -1 and norm None or 'ortho', got {type}, "
            f"{axis}, {norm!r}"
        )
    x = _array("dct", input)
    if n is not None:
        size = int(n)
        x = x[..., :size]
        widths = [(0, 0)] * (x.ndim - 1) + [(0, size - x.shape[-1])]
        x = np.pad(x, widths)
    size = x.shape[-1]
    if type == 1 and (size < 2 or norm == "ortho"):
        raise ValueError("dct: type 1 needs two values and has no orthonormal form")
    places = np.arange(size)
    factors = _DCT[type](places[:, None], places, size)
    if type == 1:
        factors[:, [0, -1]] /= 2
    if type == 3:
        factors[:, 0] /= 2
    if norm == "ortho":
        factors = factors * np.sqrt(1 / (2 * size))
        if type == 2:
            factors[0] /= np.sqrt(2)
        if type == 3:
            factors[:, 0] *= np.sqrt(2)
    return wrap((x @ factors.T).astype(x.dtype))


# --- mel ------------------------------------------------------------------------------


def _mel(hertz: Any) -> Any:
    return 1127.0 * np.log1p(hertz / 700.0)


@traceable
def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: int = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = float32,
    name: str | None = None,
) -> Any:
    """The matrix by which a spectrum is multiplied for one of mel bins."""
    half = float(sample_rate) / 2
    low, high = float(lower_edge_hertz), float(upper_edge_hertz)
    if num_mel_bins <= 0 or not 0 <= low < high <= half:
        raise ValueError(
            f"linear_to_mel_weight_matrix: needs bins and 0 <= lower_edge_hertz < "
            f"upper_edge_hertz <= {half}, got {num_mel_bins} bins, {low} and {high}"
        )
    edges = np.linspace(_mel(low), _mel(high), int(num_mel_bins) + 2)
    left, middle, right = edges[:-2], edges[1:-1], edges[2:]
    bins = _mel(np.linspace(0, half, int(num_spectrogram_bins)))[1:, None]
    rising = (bins - left) / (middle - left)
    falling = (right - bins) / (right - middle)
    weights = np.maximum(0, np.minimum(rising, falling))
    return wrap(np.pad(weights, ((1, 0), (0, 0))).astype(numpy_dtype(dtype)))


@traceable
def mfccs_from_log_mel_spectrograms(
    log_mel_spectrograms: Any, name: str | None = None
) -> Any:
    """Cepstral coefficients of the logarithms of mel spectra."""
    x = _array("mfccs_from_log_mel_spectrograms", log_mel_spectrograms)
    if x.shape[-1] == 0:
        raise InvalidArgumentError("mfccs_from_log_mel_spectrograms: there are no bins")
    made = np.asarray(dct(x)) / np.sqrt(2.0 * x.shape[-1])
    return wrap(made.astype(x.dtype))


@traceable
def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Any:
    """Frames laid over each other, `frame_step` apart, and added.

    >>> import penstock.tf as tf
    >>> tf.signal.overlap_and_add([[1.0, 1.0], [1.0, 1.0]], 1).numpy()
    array([1., 2., 1.], dtype=float32)
    """
    x, step = _array("overlap_and_add", signal), int(frame_step)
    if x.ndim < 2:
        raise ValueError(f"overlap_and_add: signal must have rank 2, got {x.ndim}")
    count, length = x.shape[-2:]
    out = np.zeros((*x.shape[:-2], (count - 1) * step + length), x.dtype)
    for i in np.arange(count):
        out[..., i * step : i * step + length] += x[..., i, :]
    return wrap(out)


def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Any = hann_window, name: str | None = None
) -> Any:
    """The window for `inverse_stft` of what `stft` made with the other one."""

    def window(frame_length: Any, dtype: Any = float32) -> Any:
        length, step = int(frame_length), int(frame_step)
        made = np.asarray(forward_window_fn(length, dtype=dtype))
        overlaps = -(-length // step)
        padded = np.pad(made**2, (0, overlaps * step - length))
        total = np.tile(padded.reshape(overlaps, step).sum(0), overlaps)[:length]
        return wrap((made / total).astype(made.dtype))

    return window


@traceable
def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Any = hann_window,
    name: str | None = None,
) -> Any:
    """The signal of spectra, whose frames are added."""
    x, length = _array("inverse_stft", stfts), int(frame_length)
    size = 1 << (length - 1).bit_length() if fft_length is None else int(fft_length)
    wide = np.float64 if x.dtype == np.complex128 else np.float32
    frames = np.fft.irfft(x, size, axis=-1).astype(wide)[..., :length]
    if frames.shape[-1] < length:
        widths = [(0, 0)] * (frames.ndim - 1) + [(0, length - frames.shape[-1])]
        frames = np.pad(frames, widths)
    if window_fn is not None:
        frames = frames * np.asarray(window_fn(length, dtype=np.dtype(wide)))
    return overlap_and_add(frames.astype(wide), frame_step)


@traceable
def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Any:
    """The zero frequency in the middle."""
    return wrap(np.fft.fftshift(_array("fftshift", x), axes))


@traceable
def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Any:
    """`fftshift` undone."""
    return wrap(np.fft.ifftshift(_array("ifftshift", x), axes))


def __getattr__(name: str) -> Any:
    return _missing.resolve("signal", name)
