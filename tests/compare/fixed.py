"""Calls of functions of `tf` on fixed values, the same for any module.

`CASES` are functions of the module. Their results on the real TensorFlow are kept
in python/tests/tf/functions.json, so that tests without TensorFlow hold ours to
them; `compare.py --write` writes that file, and `make compare` looks at both.
"""

from __future__ import annotations

import os
import random
import tempfile

import numpy as np

_values = np.random.default_rng(0)
_bytes = random.Random(1)
_folder = tempfile.mkdtemp(prefix="penstock-compare-")
_words, _pairs = os.path.join(_folder, "words"), os.path.join(_folder, "pairs")
with open(_words, "w") as _file:
    _file.write("x\ny\nz\n")
with open(_pairs, "w") as _file:
    _file.write("x\t4\ny\t5\n")

P = np.arange(24).reshape(2, 3, 4)
K = np.array([[0, 2], [1, 1]])
F = _values.normal(size=(3, 4)).astype(np.float32)
V = np.array([0.0, 1.5, -2.0, 0.0], np.float32)
IM = _values.random((2, 5, 6, 3)).astype(np.float32)
U8 = _values.integers(0, 256, (2, 5, 6, 3)).astype(np.uint8)
IDS = np.array([2, 0, 2])
S = [
    bytes(_bytes.randrange(256) for _ in range(n))
    for n in [*range(0, 140, 7), 257, 999]
]
U = ["G\u00f6", "a\u20acb", "", "\U0001f600x"]
BAD = [b"a\xffb", b"\xe2\x82"]


def ragged(tf):
    return tf.ragged.constant([[1, 2], [], [3]])


def sparse(tf):
    return tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])


def table(tf):
    keys = tf.lookup.KeyValueTensorInitializer(
        ["a", "b"], tf.constant([7, 8], tf.int64)
    )
    return tf.lookup.StaticHashTable(keys, -1)


def words(tf):
    index = tf.lookup.TextFileIndex
    return tf.lookup.TextFileInitializer(
        _words, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
    )


def pairs(tf):
    return tf.lookup.TextFileInitializer(_pairs, tf.string, 0, tf.int64, 1)


CASES = [
    lambda tf: tf.gather(P, K, axis=1, batch_dims=1),
    lambda tf: tf.gather(P, [[[0], [1], [3]], [[2], [2], [0]]], batch_dims=2),
    lambda tf: tf.gather(P, K, batch_dims=1, axis=2),
    lambda tf: tf.gather(P, K, batch_dims=-1),
    lambda tf: tf.gather_nd(P, [[[0, 1]], [[2, 3]]], batch_dims=1),
    lambda tf: tf.gather_nd(P, [[[1], [2]], [[0], [3]]], batch_dims=1),
    lambda tf: tf.gather_nd(P, [[5, 0]]),
    lambda tf: tf.strided_slice(P, [0, 1], [1, 3], [1, 2]),
    lambda tf: tf.strided_slice(P, [1, 1], [2, 2], begin_mask=2),
    lambda tf: tf.strided_slice(P, [0, 1], [0, 3], end_mask=1),
    lambda tf: tf.strided_slice(
        P, [0, 0, 1], [1, 0, 2], ellipsis_mask=2, shrink_axis_mask=4
    ),
    lambda tf: tf.strided_slice(P, [0, 1], [0, 2], new_axis_mask=1),
    lambda tf: tf.strided_slice(P, [-1], [0], [-1], end_mask=1),
    lambda tf: tf.matmul([[1.0, 2.0]], [[3.0, 4.0]], adjoint_b=True),
    lambda tf: tf.matmul(
        tf.constant([[1, 2]], tf.int8),
        tf.constant([[3], [4]], tf.int8),
        output_type=tf.int32,
    ),
    lambda tf: tf.matmul([[1.0, 2.0]], [[3.0, 4.0]], transpose_b=True, adjoint_b=True),
    lambda tf: tf.matmul([[1.0, 2.0]], [[3.0], [4.0]], a_is_sparse=True),
    lambda tf: tf.strings.ngrams(["a", "b", "c", "d"], [2, 3]),
    lambda tf: tf.strings.ngrams(["a", "b"], 3, pad_values="_"),
    lambda tf: tf.strings.ngrams(["a", "b"], 3, pad_values=("<", ">"), padding_width=1),
    lambda tf: tf.strings.ngrams(["a", "b"], 5, preserve_short_sequences=True),
    lambda tf: tf.strings.ngrams([["a", "b"], ["c", "d"]], 2),
    lambda tf: tf.strings.ngrams(tf.ragged.constant([["a", "b", "c"], ["d"], []]), 2),
    lambda tf: tf.strings.ngrams(["a"], 2),
    lambda tf: tf.strings.ngrams(["a", "b"], 2, separator="-"),
    lambda tf: tf.strings.to_hash_bucket_fast(S, 2**62),
    lambda tf: tf.strings.to_hash_bucket(S, 2**62),
    lambda tf: tf.strings.to_hash_bucket_strong(S, 2**62, [1, 2]),
    lambda tf: tf.strings.to_hash_bucket_strong(S, 1000, [2**62, 77]),
    lambda tf: tf.strings.to_hash_bucket_fast(S, 7),
    lambda tf: tf.strings.unicode_decode(U, "UTF-8"),
    lambda tf: tf.strings.unicode_decode("Gö", "UTF-8"),
    lambda tf: list(tf.strings.unicode_decode_with_offsets(U, "UTF-8")),
    lambda tf: list(tf.strings.unicode_split_with_offsets("a\u20acb", "UTF-8")),
    lambda tf: tf.strings.unicode_split(U, "UTF-8"),
    lambda tf: tf.strings.unicode_decode(BAD[0], "UTF-8", errors="ignore"),
    lambda tf: tf.strings.unicode_decode(BAD[0], "UTF-8"),
    lambda tf: tf.strings.unicode_decode(BAD[0], "UTF-8", errors="strict"),
    lambda tf: tf.strings.unicode_decode(BAD[0], "UTF-8", replacement_char=63),
    lambda tf: tf.strings.unicode_encode([71, 246, 128512], "UTF-8"),
    lambda tf: tf.strings.unicode_encode([[71, 246], [65, 66]], "UTF-16-BE"),
    lambda tf: tf.strings.unicode_encode(tf.ragged.constant([[71], [65, 66]]), "UTF-8"),
    lambda tf: tf.strings.unicode_encode([0xD800, 65], "UTF-8"),
    lambda tf: tf.strings.unicode_transcode(U, "UTF-8", "UTF-16-BE"),
    lambda tf: tf.strings.unicode_transcode(BAD, "UTF-8", "UTF-8"),
    lambda tf: tf.strings.unicode_transcode(BAD[0], "UTF-8", "UTF-8", errors="ignore"),
    lambda tf: tf.strings.unicode_transcode([b"\xe9"], "ISO-8859-1", "UTF-8"),
    lambda tf: tf.strings.unsorted_segment_join(
        ["a", "b", "c"], [1, 0, 1], 3, separator="-"
    ),
    lambda tf: tf.gather(
        np.arange(24).reshape(2, 3, 4), np.array([[0, 2], [1, 1]]), batch_dims=-1
    ),
    lambda tf: tf.strings.ngrams([["a", "b"], ["c", "d"]], 2),
    lambda tf: tf.math.erf(F),
    lambda tf: tf.math.erfc(F),
    lambda tf: tf.math.lgamma(np.abs(F)),
    lambda tf: tf.math.xlogy(V, np.abs(V)),
    lambda tf: tf.math.xdivy(V, V),
    lambda tf: tf.math.xlog1py(V, np.abs(V)),
    lambda tf: tf.math.multiply_no_nan(V, V),
    lambda tf: tf.math.reciprocal_no_nan(V),
    lambda tf: tf.math.log_softmax(F),
    lambda tf: tf.math.log_sigmoid(F),
    lambda tf: tf.math.softsign(F),
    lambda tf: tf.math.zero_fraction(V),
    lambda tf: tf.math.scalar_mul(2.0, F),
    lambda tf: tf.math.polyval([1.0, 2.0, 3.0], 2.0),
    lambda tf: tf.math.accumulate_n([F, F]),
    lambda tf: tf.math.is_non_decreasing([1, 1, 2]),
    lambda tf: tf.math.is_strictly_increasing([1, 1, 2]),
    lambda tf: tf.math.invert_permutation([2, 0, 1]),
    lambda tf: tf.math.in_top_k([1, 0, 3], F, 2),
    lambda tf: tf.math.confusion_matrix([1, 2, 0], [1, 1, 0]),
    lambda tf: tf.math.cumulative_logsumexp(F),
    lambda tf: tf.math.cumulative_logsumexp(F, axis=1, reverse=True),
    lambda tf: tf.math.unsorted_segment_sum(F, IDS, 4),
    lambda tf: tf.math.unsorted_segment_prod(F, IDS, 3),
    lambda tf: tf.math.unsorted_segment_max(F, IDS, 3),
    lambda tf: tf.math.unsorted_segment_min(F, IDS, 3),
    lambda tf: tf.math.unsorted_segment_mean(F, IDS, 4),
    lambda tf: tf.math.unsorted_segment_sqrt_n(F, IDS, 3),
    lambda tf: tf.math.unsorted_segment_sum([5, 6, 7], [0, -1, 0], 2),
    lambda tf: tf.math.segment_min(F, [0, 0, 1]),
    lambda tf: tf.math.segment_prod(F, [0, 0, 2]),
    lambda tf: tf.truncatemod([-7, 7], 3),
    lambda tf: tf.math.softmax(F, 0),
    lambda tf: tf.image.rgb_to_yiq(IM),
    lambda tf: tf.image.yiq_to_rgb(IM),
    lambda tf: list(tf.image.image_gradients(tf.constant(IM))),
    lambda tf: tf.image.sobel_edges(tf.constant(IM)),
    lambda tf: tf.image.total_variation(tf.constant(IM)),
    lambda tf: tf.image.total_variation(tf.constant(IM[0])),
    lambda tf: tf.image.psnr(IM, IM * 0.9, 1.0),
    lambda tf: tf.image.psnr(U8, U8[::-1], 255),
    lambda tf: tf.image.extract_patches(
        IM, [1, 2, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"
    ),
    lambda tf: tf.image.extract_patches(
        IM, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"
    ),
    lambda tf: tf.image.extract_patches(
        IM, [1, 2, 2, 1], [1, 1, 1, 1], [1, 2, 2, 1], "VALID"
    ),
    lambda tf: tf.image.extract_patches(
        IM, [1, 2, 2, 1], [1, 1, 1, 1], [1, 2, 2, 1], "SAME"
    ),
    lambda tf: tf.image.crop_and_resize(
        IM, [[0.1, 0.2, 0.9, 0.8], [-0.2, 0.0, 1.3, 1.0]], [0, 1], [4, 3]
    ),
    lambda tf: tf.image.crop_and_resize(IM, [[0.9, 0.2, 0.1, 0.8]], [0], [1, 3]),
    lambda tf: tf.image.crop_and_resize(
        IM,
        [[0.1, 0.2, 0.9, 0.8]],
        [0],
        [4, 3],
        method="nearest",
        extrapolation_value=-1.0,
    ),
    lambda tf: tf.image.crop_and_resize(U8, [[0.1, 0.2, 0.9, 0.8]], [0], [4, 3]),
    lambda tf: tf.image.non_max_suppression(
        [[0.0, 0, 1, 1], [0, 0, 1, 0.9], [0, 2, 1, 3], [1, 3, 0, 2]],
        [0.9, 0.8, 0.7, 0.95],
        4,
    ),
    lambda tf: tf.image.non_max_suppression(
        [[0.0, 0, 1, 1], [0, 0, 1, 0.9], [0, 2, 1, 3]], [0.9, 0.8, 0.7], 2, 0.95, 0.75
    ),
    lambda tf: tf.image.draw_bounding_boxes(
        IM, [[[0.1, 0.2, 0.9, 0.8]], [[0.0, 0.0, 1.0, 1.0]]], [[1.0, 0.0, 0.0]]
    ),
    lambda tf: tf.image.draw_bounding_boxes(
        IM, [[[0.1, 0.2, 0.9, 1.8]], [[0.0, 0.0, 0.5, 0.5]]], None
    ),
    lambda tf: tf.nn.space_to_depth(IM[:, :4, :4], 2),
    lambda tf: tf.nn.depth_to_space(IM[:, :, :, :1].repeat(4, 3), 2),
    lambda tf: tf.nn.relu6(F * 5),
    lambda tf: tf.nn.leaky_relu(F),
    lambda tf: list(tf.nn.top_k(F, 2)),
    lambda tf: tf.tensor_scatter_nd_update(F, [[0, 1], [2, 2]], [1.0, 2.0]),
    lambda tf: tf.tensor_scatter_nd_add([1, 2, 3], [[0], [0]], [5, 6]),
    lambda tf: tf.tensor_scatter_nd_sub([1, 2, 3], [[0], [0]], [5, 6]),
    lambda tf: tf.tensor_scatter_nd_max([1, 2, 3], [[0]], [5]),
    lambda tf: tf.tensor_scatter_nd_min([1, 2, 3], [[2]], [0]),
    lambda tf: tf.scatter_nd([[1], [3], [1]], [5, 7, 1], [4]),
    lambda tf: tf.tensor_scatter_nd_update(F, [[5, 1]], [1.0]),
    lambda tf: tf.dynamic_partition(F, [1, 0, 1], 3),
    lambda tf: tf.dynamic_stitch([[0, 2], [1]], [[5, 6], [7]]),
    lambda tf: tf.reverse_sequence(F, [2, 0, 4], seq_axis=1, batch_axis=0),
    lambda tf: tf.reverse_sequence(F, [2, 3, 1, 0], seq_axis=0, batch_axis=1),
    lambda tf: list(tf.unique_with_counts([3, 1, 3])),
    lambda tf: tf.unravel_index([5, 7], [3, 4]),
    lambda tf: tf.einsum("ij,kj->ik", F, F),
    lambda tf: tf.tensordot(F, F, [[1], [1]]),
    lambda tf: tf.tensordot(F, F.T, 1),
    lambda tf: tf.norm(F),
    lambda tf: tf.norm(F, axis=1),
    lambda tf: tf.norm(F, ord=1, axis=0),
    lambda tf: tf.norm(F, ord=np.inf),
    lambda tf: tf.histogram_fixed_width(
        [-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], 5
    ),
    lambda tf: tf.histogram_fixed_width_bins(
        [-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], 5
    ),
    lambda tf: tf.broadcast_dynamic_shape([1, 3], [2, 1]),
    lambda tf: tf.broadcast_static_shape(
        tf.TensorShape([1, 3]), tf.TensorShape([2, 1])
    ).as_list(),
    lambda tf: tf.scan(lambda a, x: a + x, tf.constant([1, 2, 3])),
    lambda tf: tf.scan(
        lambda a, x: a * x, tf.constant([1, 2, 3]), initializer=2, reverse=True
    ),
    lambda tf: tf.foldr(lambda a, x: a - x, tf.constant([1, 2, 3])),
    lambda tf: tf.identity_n([1, 2.0]),
    lambda tf: tf.shape_n([F, [1]]),
    lambda tf: tf.truncatemod(-7, 3),
    lambda tf: tf.realdiv(7.0, 2.0),
    lambda tf: tf.as_string(3),
    lambda tf: ragged(tf).value_rowids(),
    lambda tf: ragged(tf).row_starts(),
    lambda tf: ragged(tf).row_limits(),
    lambda tf: ragged(tf).bounding_shape(),
    lambda tf: ragged(tf).to_sparse(),
    lambda tf: tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2], nrows=4),
    lambda tf: tf.RaggedTensor.from_row_starts([1, 2, 3], [0, 2, 2]),
    lambda tf: tf.RaggedTensor.from_row_limits([1, 2, 3], [1, 3]),
    lambda tf: tf.RaggedTensor.from_tensor([[1, 0, 0], [2, 3, 0]], padding=0),
    lambda tf: tf.RaggedTensor.from_tensor([[1, 0, 0], [2, 3, 0]], lengths=[1, 2]),
    lambda tf: tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2),
    lambda tf: tf.RaggedTensor.from_sparse(
        tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [3, 2])
    ),
    lambda tf: ragged(tf).with_flat_values([7, 8, 9]),
    lambda tf: tf.ragged.constant([[[1], [2, 3]], [[4]]]).merge_dims(0, 1),
    lambda tf: tf.RaggedTensor.from_nested_row_splits(
        [1, 2, 3], [[0, 1, 2], [0, 1, 3]]
    ),
    lambda tf: list(tf.ragged.constant([[[1], [2, 3]], [[4]]]).nested_row_lengths()),
    lambda tf: tf.ragged.range([0, 3], [2, 5]),
    lambda tf: tf.ragged.range([3, 5]),
    lambda tf: tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]]),
    lambda tf: tf.ragged.map_flat_values(tf.square, ragged(tf)),
    lambda tf: tf.ragged.row_splits_to_segment_ids([0, 2, 2, 3]),
    lambda tf: tf.ragged.segment_ids_to_row_splits([0, 0, 2]),
    lambda tf: tf.ragged.stack_dynamic_partitions([1, 2, 3], [1, 0, 1], 2),
    lambda tf: tf.sparse.reorder(tf.SparseTensor([[2, 0], [0, 1]], [6, 5], [3, 2])),
    lambda tf: tf.sparse.reshape(sparse(tf), [2, -1]),
    lambda tf: tf.sparse.transpose(sparse(tf)),
    lambda tf: tf.sparse.expand_dims(sparse(tf), 0),
    lambda tf: tf.sparse.expand_dims(sparse(tf)),
    lambda tf: tf.sparse.concat(0, [sparse(tf), sparse(tf)]),
    lambda tf: tf.sparse.concat(1, [sparse(tf), sparse(tf)]),
    lambda tf: tf.sparse.retain(sparse(tf), [True, False]),
    lambda tf: tf.sparse.slice(sparse(tf), [1, 0], [2, 2]),
    lambda tf: tf.sparse.map_values(tf.square, sparse(tf)),
    lambda tf: tf.sparse.add(sparse(tf), sparse(tf)),
    lambda tf: tf.sparse.reduce_sum(sparse(tf), 1),
    lambda tf: tf.sparse.reduce_sum(sparse(tf)),
    lambda tf: list(tf.sparse.fill_empty_rows(sparse(tf), 9)),
    lambda tf: tf.sparse.to_indicator(
        tf.SparseTensor([[0, 0], [1, 1]], tf.constant([1, 2], tf.int64), [2, 2]), 4
    ),
    lambda tf: table(tf).lookup(tf.constant(["b", "zz"])),
    lambda tf: table(tf).lookup(tf.constant("a")),
    lambda tf: table(tf)[tf.constant([["a"], ["b"]])],
    lambda tf: table(tf).size(),
    lambda tf: table(tf).lookup(tf.constant([1])),
    lambda tf: tf.lookup.StaticHashTable(words(tf), -1).lookup(tf.constant(["z", "q"])),
    lambda tf: tf.lookup.StaticHashTable(pairs(tf), -1).lookup(tf.constant(["y", "q"])),
    lambda tf: tf.lookup.StaticVocabularyTable(words(tf), 5).lookup(
        tf.constant(["z", "q", "hello", "world", ""])
    ),
    lambda tf: tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(
            tf.constant([10, 20], tf.int64), tf.constant([0, 1], tf.int64)
        ),
        3,
    ).lookup(tf.constant([20, 33, 44], tf.int64)),
    lambda tf: list(
        tf.audio.decode_wav(
            tf.audio.encode_wav([[0.0, 0.5], [-1.0, 1.0], [0.25, 0.1]], 8000)
        )
    ),
    lambda tf: tf.audio.encode_wav([[0.0], [0.5], [-1.0], [0.33]], 8000),
    lambda tf: list(
        tf.audio.decode_wav(
            tf.audio.encode_wav([[0.0], [0.5]], 8000),
            desired_channels=2,
            desired_samples=3,
        )
    ),
    lambda tf: tf.audio.decode_wav(b"no"),
    lambda tf: tf.train.SequenceExample(
        context=tf.train.Features(
            feature={"c": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x"]))}
        ),
        feature_lists=tf.train.FeatureLists(
            feature_list={
                "s": tf.train.FeatureList(
                    feature=[
                        tf.train.Feature(int64_list=tf.train.Int64List(value=[i, -i]))
                        for i in range(3)
                    ]
                ),
                "f": tf.train.FeatureList(
                    feature=[
                        tf.train.Feature(float_list=tf.train.FloatList(value=[0.5]))
                    ]
                ),
            }
        ),
    ).SerializeToString(deterministic=True),
    lambda tf: [
        tf.TensorShape([None, 3]).is_subtype_of(tf.TensorShape(None)),
        tf.TensorShape([2, 3])
        .most_specific_compatible_shape(tf.TensorShape([2, 4]))
        .as_list(),
    ],
    lambda tf: tf.random.experimental.stateless_fold_in([1, 2], 3).shape.as_list(),
    lambda tf: tf.debugging.assert_rank_at_least([1], 2),
    lambda tf: tf.debugging.assert_integer(1.0),
    lambda tf: tf.debugging.is_numeric_tensor(tf.constant("a")),
    lambda tf: tf.debugging.assert_same_float_dtype([tf.constant(1.0)]).name,
    lambda tf: [
        tf.compat.as_bytes("a"),
        tf.compat.as_str(b"b"),
        tf.compat.as_str_any(3),
    ],
]
