"""Calls on signals, matrices, bits and windows, the same on any module."""

from __future__ import annotations

import numpy as np

_random = np.random.default_rng(7)
WAVE = _random.normal(size=(2, 50)).astype(np.float32)
SQUARE = (_random.normal(size=(2, 3, 3)) + 3 * np.eye(3)).astype(np.float32)
POSITIVE = SQUARE @ SQUARE.transpose(0, 2, 1)
PICTURE = _random.random((2, 5, 6, 2)).astype(np.float32)
FILTER = _random.random((3, 2, 2, 3)).astype(np.float32)
BITS = np.array([5, -6, 7, 1], np.int32)


def table(tf, **more):
    pairs = tf.data.Dataset.from_tensor_slices(
        (["a", "b", "c"], tf.constant([5, 6, 7], tf.int64))
    )
    return tf.data.experimental.table_from_dataset(pairs, **more)


def index(tf, **more):
    words = tf.data.Dataset.from_tensor_slices(["a", "b", "c"])
    return tf.data.experimental.index_table_from_dataset(words, **more)


def places(tf, *rows):
    return tf.SparseTensor(list(rows), list(range(1, len(rows) + 1)), [3, 2])


def parts(tf, values):
    """Complex values in what JSON can hold."""
    return [tf.math.real(values), tf.math.imag(values), values.dtype.name]


CASES = [
    lambda tf: tf.signal.frame(WAVE, 12, 5),
    lambda tf: tf.signal.frame(WAVE, 12, 5, pad_end=True, pad_value=7),
    lambda tf: tf.signal.frame(WAVE.T, 12, 5, axis=0),
    lambda tf: tf.signal.frame(WAVE, 60, 5),
    lambda tf: tf.signal.hann_window(8),
    lambda tf: tf.signal.hann_window(7),
    lambda tf: tf.signal.hann_window(8, periodic=False),
    lambda tf: tf.signal.hann_window(1),
    lambda tf: tf.signal.hamming_window(6, dtype=tf.float64),
    lambda tf: tf.signal.kaiser_window(6, 4.0),
    lambda tf: parts(tf, tf.signal.stft(WAVE, 12, 5)),
    lambda tf: parts(tf, tf.signal.stft(WAVE, 12, 5, 20, pad_end=True)),
    lambda tf: parts(tf, tf.signal.stft(WAVE, 12, 5, window_fn=None)),
    lambda tf: tf.abs(tf.signal.stft(WAVE, 12, 5)),
    lambda tf: parts(tf, tf.signal.rfft(WAVE, [16])),
    lambda tf: tf.signal.irfft(tf.signal.rfft(WAVE)),
    lambda tf: parts(tf, tf.signal.fft(tf.complex(WAVE, WAVE))),
    lambda tf: parts(tf, tf.signal.ifft(tf.complex(WAVE, WAVE))),
    *(lambda tf, t=t: tf.signal.dct(WAVE, type=t) for t in (1, 2, 3, 4)),
    *(lambda tf, t=t: tf.signal.dct(WAVE, type=t, norm="ortho") for t in (2, 3, 4)),
    lambda tf: tf.signal.dct(WAVE, n=9),
    lambda tf: tf.signal.dct(WAVE, type=1, norm="ortho"),
    lambda tf: tf.signal.linear_to_mel_weight_matrix(),
    lambda tf: tf.signal.linear_to_mel_weight_matrix(5, 17, 16000, 80.0, 7600.0),
    lambda tf: tf.signal.linear_to_mel_weight_matrix(5, 17, 8000, 80.0, 7600.0),
    lambda tf: tf.signal.mfccs_from_log_mel_spectrograms(WAVE),
    lambda tf: tf.math.angle(tf.complex(WAVE, -WAVE)),
    lambda tf: parts(tf, tf.math.conj(tf.complex(WAVE[0], 2.0))),
    lambda tf: tf.linalg.band_part(SQUARE, 1, 0),
    lambda tf: tf.linalg.band_part(SQUARE, -1, 1),
    lambda tf: tf.linalg.diag([[1, 2], [3, 4]]),
    lambda tf: tf.linalg.diag([1.0, 2.0], k=-1, padding_value=9),
    lambda tf: tf.linalg.diag_part(SQUARE),
    lambda tf: tf.linalg.diag_part(SQUARE, k=1),
    lambda tf: tf.linalg.trace(SQUARE),
    lambda tf: tf.linalg.matrix_transpose(SQUARE),
    lambda tf: tf.linalg.matvec(SQUARE, [1.0, 2.0, 3.0]),
    lambda tf: tf.linalg.matvec(SQUARE, [1.0, 2.0, 3.0], transpose_a=True),
    lambda tf: list(tf.linalg.normalize(SQUARE, axis=1)),
    lambda tf: tf.linalg.det(SQUARE),
    lambda tf: tf.linalg.inv(SQUARE),
    lambda tf: tf.linalg.inv(SQUARE[:, :2]),
    lambda tf: tf.linalg.inv([[1.0, 1.0], [1.0, 1.0]]),
    lambda tf: tf.linalg.cholesky(POSITIVE),
    lambda tf: tf.linalg.cross([1.0, 2.0, 3.0], [3.0, 2.0, 5.0]),
    lambda tf: tf.bitwise.bitwise_and(BITS, 3),
    lambda tf: tf.bitwise.bitwise_or(BITS, 3),
    lambda tf: tf.bitwise.bitwise_xor(BITS, BITS[::-1]),
    lambda tf: tf.bitwise.left_shift(BITS, 2),
    lambda tf: tf.bitwise.right_shift(BITS, 1),
    lambda tf: tf.bitwise.invert(BITS),
    lambda tf: tf.nn.conv2d(PICTURE, FILTER, 1, "VALID"),
    lambda tf: tf.nn.conv2d(PICTURE, FILTER, [1, 2, 2, 1], "SAME"),
    lambda tf: tf.nn.conv2d(PICTURE, FILTER, 1, "SAME", dilations=2),
    lambda tf: tf.nn.depthwise_conv2d(PICTURE, FILTER, [1, 1, 1, 1], "SAME"),
    lambda tf: tf.nn.depthwise_conv2d(PICTURE, FILTER, [1, 2, 2, 1], "VALID"),
    lambda tf: tf.nn.max_pool2d(PICTURE, 2, 2, "SAME"),
    lambda tf: tf.nn.max_pool2d(-PICTURE, [3, 2], [2, 1], "SAME"),
    lambda tf: tf.nn.avg_pool2d(PICTURE, 2, 2, "SAME"),
    lambda tf: tf.nn.avg_pool2d(PICTURE, [3, 2], [2, 1], "VALID"),
    lambda tf: [tf.dtypes.cast([1.5], tf.dtypes.int32), tf.complex64.is_complex],
    lambda tf: tf.sparse.reduce_max(
        tf.SparseTensor([[0, 1], [0, 2], [2, 0]], [-5, -7, 6], [3, 3]), 1
    ),
    lambda tf: tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1),
    lambda tf: tf.ragged.constant([[[1, 2]], [[3, 4]]], inner_shape=(2,)),
    lambda tf: tf.ragged.constant([[[1], [2, 3]], []]).row_lengths(axis=2),
    lambda tf: tf.range(10, delta=3),
    lambda tf: tf.range(1.0, 2.0, 0.25),
    lambda tf: tf.atan2(y=[1.0, -1.0], x=[0.5, 2.0]),
    lambda tf: tf.convert_to_tensor([1, 2], dtype_hint=tf.float32),
    lambda tf: tf.convert_to_tensor([1.5, 2], dtype_hint=tf.int32),
    lambda tf: tf.constant([1.5, 2], tf.int32),
    lambda tf: tf.constant([[1], [2.0]], tf.int64),
    lambda tf: tf.constant([1, 2], tf.float32),
    lambda tf: table(tf, default_value=-1).lookup(tf.constant(["b", "z"])),
    lambda tf: table(tf, default_value=-1, vocab_size=1).lookup(tf.constant(["b"])),
    lambda tf: index(tf).lookup(tf.constant(["b", "z"])),
    lambda tf: index(tf, num_oov_buckets=-1),
    lambda tf: tf.sparse.to_dense(places(tf, [0, 1], [2, 0])),
    lambda tf: tf.sparse.to_dense(places(tf, [0, 1], [3, 0])),
    lambda tf: tf.sparse.to_dense(places(tf, [-1, 1])),
    lambda tf: tf.sparse.to_dense(places(tf, [0, 1], [0, 1])),
    lambda tf: tf.sparse.to_dense(places(tf, [1, 0], [0, 1])),
    lambda tf: tf.sparse.to_dense(places(tf, [1, 0], [0, 1]), validate_indices=False),
    lambda tf: tf.sparse.reset_shape(places(tf, [0, 1], [1, 0])),
    lambda tf: tf.sparse.reset_shape(places(tf, [0, 1], [1, 0]), [4, 4]),
    lambda tf: tf.sparse.reset_shape(places(tf, [0, 1], [1, 0]), [1, 1]),
    lambda tf: tf.sparse.eye(2, 3),
    lambda tf: tf.sparse.split(places(tf, [0, 1], [2, 0]), 2, axis=0),
    lambda tf: tf.sparse.sparse_dense_matmul(places(tf, [0, 1], [2, 0]), [[1], [2]]),
    lambda tf: tf.io.deserialize_many_sparse(
        tf.io.serialize_many_sparse(places(tf, [0, 1], [2, 0])), tf.int32
    ),
    lambda tf: tf.io.deserialize_many_sparse(
        [tf.io.serialize_sparse(places(tf, [0, 1], [2, 0]))], tf.int32
    ),
    lambda tf: tf.TensorArray(tf.int32, 2).write(0, [1]).write(1, [2]).stack(),
    lambda tf: tf.TensorArray(tf.int32, 2).write(0, [1, 5]).stack(),
    lambda tf: tf.TensorArray(tf.int32, 2).write(2, [1]).stack(),
    lambda tf: tf.TensorArray(tf.int32, 0, dynamic_size=True).write(2, 7).stack(),
    lambda tf: tf.TensorArray(tf.int32, 2).unstack([[1, 2], [3, 4]]).read(1),
    lambda tf: tf.TensorArray(tf.int32, 2).unstack([[1, 2], [3, 4]]).concat(),
    lambda tf: tf.TensorArray(tf.int32, 2).unstack([5, 6, 7]).gather([2, 0]),
    lambda tf: tf.TensorArray(tf.int32, 2).split([5, 6, 7], [1, 2]).read(1),
    lambda tf: tf.TensorArray(tf.int32, 3).scatter([2, 0, 1], [5, 6, 7]).stack(),
    lambda tf: tf.TensorArray(tf.int32, 1).write(0, tf.constant(1.5)),
    lambda tf: tf.TensorArray(tf.int32, 3).size(),
]
