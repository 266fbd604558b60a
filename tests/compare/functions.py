"""Functions of `tf` on random values, called the same way on any module.

`cases(seed)` gives (name, call); `call(tf)` computes with that module.
"""

from __future__ import annotations

import random

import numpy as np


def _picture(chance, dtype, shape=None):
    height, width = chance.randint(3, 24), chance.randint(3, 24)
    values = np.random.default_rng(chance.randrange(2**32))
    pixels = values.integers(0, 256, shape or (height, width, 3), np.uint8)
    return pixels if dtype == "uint8" else (pixels / np.float32(255)).astype(dtype)


def cases(seed):
    chance = random.Random(seed)
    dtype = chance.choice(["uint8", "float32"])
    image = _picture(chance, dtype)
    height, width = image.shape[:2]
    batch = _picture(chance, dtype, (2, 7, 9, 3))
    vector = np.random.default_rng(seed).normal(size=chance.randint(1, 9)) * 3
    floats, whole = vector.astype(np.float32), (vector * 4).astype(np.int64)
    matrix = np.random.default_rng(seed).normal(size=(3, 4)).astype(np.float32)
    size = (chance.randint(8, 30), chance.randint(8, 30))
    method = chance.choice(
        ["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5"]
    )
    alias = chance.random() < 0.5 and method != "nearest"
    factor = chance.uniform(0.2, 2.0)
    delta = chance.uniform(-0.4, 0.4)
    turns = chance.randint(-3, 5)
    top, left = chance.randint(0, height - 1), chance.randint(0, width - 1)
    box = (top, left, height - top, width - left)
    axis = chance.choice([None, 0, 1, -1, [0, 1]])
    yield from {
        "resize": lambda tf: tf.image.resize(image, size, method, antialias=alias),
        "resize batch": lambda tf: tf.image.resize(batch, size, method),
        "resize aspect": lambda tf: tf.image.resize(
            image, size, preserve_aspect_ratio=True
        ),
        "resize_with_pad": lambda tf: tf.image.resize_with_pad(image, *size),
        "crop_or_pad": lambda tf: tf.image.resize_with_crop_or_pad(image, *size),
        "crop box": lambda tf: tf.image.crop_to_bounding_box(image, *box),
        "central_crop": lambda tf: tf.image.central_crop(image, 0.5),
        "flip": lambda tf: tf.image.flip_left_right(image),
        "flip up": lambda tf: tf.image.flip_up_down(batch),
        "rot90": lambda tf: tf.image.rot90(image, turns),
        "transpose image": lambda tf: tf.image.transpose(image),
        "to float": lambda tf: tf.image.convert_image_dtype(image, tf.float32),
        "to uint8": lambda tf: tf.image.convert_image_dtype(image, tf.uint8),
        "brightness": lambda tf: tf.image.adjust_brightness(image, delta),
        "contrast": lambda tf: tf.image.adjust_contrast(image, factor),
        "saturation": lambda tf: tf.image.adjust_saturation(image, factor),
        "hue": lambda tf: tf.image.adjust_hue(image, delta),
        "gamma": lambda tf: tf.image.adjust_gamma(
            tf.image.convert_image_dtype(image, tf.float32), factor
        ),
        "grey": lambda tf: tf.image.rgb_to_grayscale(image),
        "standardize": lambda tf: tf.image.per_image_standardization(image),
        "hsv": lambda tf: tf.image.rgb_to_hsv(
            tf.image.convert_image_dtype(image, tf.float32)
        ),
        "png": lambda tf: tf.io.decode_png(
            tf.io.encode_png(_fixed(seed).reshape(2, 2, 3))
        ),
        "uint8 / 255": lambda tf: tf.constant(_fixed(seed)) / 255,
        "raw": lambda tf: tf.io.decode_raw(_fixed(seed).tobytes(), tf.uint8),
        "tensor": lambda tf: tf.io.parse_tensor(
            tf.io.serialize_tensor(matrix), tf.float32
        ),
        "csv": lambda tf: tf.io.decode_csv("3,x,,2.5", [[0], [""], [7], [0.0]]),
        "reduce_sum": lambda tf: tf.reduce_sum(matrix, axis),
        "reduce_mean int": lambda tf: tf.reduce_mean(whole),
        "reduce_max": lambda tf: tf.reduce_max(matrix, axis, keepdims=True),
        "reduce_std": lambda tf: tf.math.reduce_std(matrix, axis),
        "logsumexp": lambda tf: tf.reduce_logsumexp(matrix, axis),
        "softmax": lambda tf: tf.nn.softmax(matrix, 0),
        "top_k": lambda tf: list(tf.math.top_k(floats, min(2, len(floats)))),
        "cumprod": lambda tf: tf.math.cumprod(floats, reverse=True),
        "one_hot": lambda tf: tf.one_hot(whole, 3, on_value=5, off_value=-1, axis=0),
        "pad": lambda tf: tf.pad(matrix, [[1, 0], [2, 1]], constant_values=3.0),
        "pad reflect": lambda tf: tf.pad(matrix, [[1, 1], [2, 0]], "REFLECT"),
        "gather": lambda tf: tf.gather(matrix, [3, 0, 1], axis=1),
        "gather_nd": lambda tf: tf.gather_nd(matrix, [[0, 1], [2, 3]]),
        "where": lambda tf: tf.where(whole > 0),
        "argsort": lambda tf: tf.argsort(floats, direction="DESCENDING"),
        "searchsorted": lambda tf: tf.searchsorted(np.sort(floats), floats),
        "unique": lambda tf: list(tf.unique(whole)),
        "split": lambda tf: tf.split(matrix, [1, -1, 2], axis=1),
        "unstack": lambda tf: tf.unstack(matrix, axis=1),
        "slice": lambda tf: tf.slice(matrix, [1, 0], [-1, 3]),
        "tile": lambda tf: tf.tile(matrix, [2, 1]),
        "squeeze": lambda tf: tf.squeeze(matrix[None, :, None]),
        "matmul": lambda tf: tf.matmul(matrix, matrix, transpose_b=True),
        "saturate": lambda tf: tf.saturate_cast(whole * 40, tf.uint8),
        "truncatediv": lambda tf: tf.truncatediv(whole, 3),
        "floormod": lambda tf: tf.math.floormod(whole, -3),
        "linspace": lambda tf: tf.linspace(0.0, 2.0, 5),
        "range": lambda tf: tf.range(2, 11, 3),
        "eye": lambda tf: tf.eye(2, 3, dtype=tf.int32),
        "clip_by_norm": lambda tf: tf.clip_by_norm(floats, 1.5),
        "bincount": lambda tf: tf.math.bincount(np.abs(whole), maxlength=6),
        "sequence_mask": lambda tf: tf.sequence_mask(np.abs(whole)),
        "words": lambda tf: tf.strings.split("a,b,,c", ","),
        "as_string": lambda tf: tf.strings.as_string(floats, precision=3),
        "substr": lambda tf: tf.strings.substr(["abcd", "efgh"], 1, 2),
        "reduce_join": lambda tf: tf.strings.reduce_join([["a", "b"], ["c", "d"]], 1),
        **_measured(seed),
        "constant": lambda tf: tf.constant([[1, 2], [3, 4]], tf.float16, (4,)),
    }.items()


def _fixed(seed):
    return np.random.default_rng(seed).integers(0, 256, 12).astype(np.uint8)


def _measured(seed):
    """Functions of signals, boxes, windows and sequences."""
    chance = random.Random(seed)
    values = np.random.default_rng(seed)
    size = chance.randint(12, 20), chance.randint(12, 20)
    first, second = values.random((2, 2, *size, 3)).astype(np.float32)
    filters = values.random((chance.randint(1, 4), chance.randint(1, 3), 3, 2))
    filters = filters.astype(np.float32)
    step, padding = chance.randint(1, 3), chance.choice(["SAME", "VALID"])
    window = chance.randint(1, 4), chance.randint(1, 3)
    boxes = values.random((10, 4)).astype(np.float32)
    scores = values.random(10).astype(np.float32)
    limit, sigma = chance.uniform(0.1, 0.9), chance.choice([0.0, 0.3])
    wave = values.normal(size=chance.randint(20, 60)).astype(np.float32)
    length, hop = chance.randint(2, 16), chance.randint(1, 9)
    pad, scaled = chance.random() < 0.5, chance.choice([None, "ortho"])
    band = chance.randint(-1, 3), chance.randint(-1, 3)
    steps = [
        [[chance.randint(-9, 9) for _ in range(chance.randint(0, 3))] for _ in range(n)]
        for n in (chance.randint(0, 4), chance.randint(0, 4))
    ]

    def sequences(tf, feature):
        return tf.io.parse_sequence_example(
            [_sequence(tf, own) for own in steps], None, {"s": feature(tf)}
        )[1]["s"]

    def sparse(tf):
        made = sequences(tf, lambda tf: tf.io.VarLenFeature(tf.int64))
        return [made.indices, made.values, made.dense_shape]

    def ragged(tf):
        made = sequences(tf, lambda tf: tf.io.RaggedFeature(tf.int64))
        return [
            made.flat_values,
            *(tf.cast(s, tf.int64) for s in made.nested_row_splits),
        ]

    return {
        "ssim": lambda tf: tf.image.ssim(first, second, 1.0),
        "multiscale": lambda tf: tf.image.ssim_multiscale(
            first, second, 1.0, (0.4, 0.6), filter_size=4
        ),
        "suppressed": lambda tf: list(
            tf.image.non_max_suppression_with_scores(
                boxes, scores, 6, limit, 0.05, sigma
            )
        ),
        "conv2d": lambda tf: tf.nn.conv2d(first, filters, step, padding),
        "depthwise": lambda tf: tf.nn.depthwise_conv2d(
            first, filters, [1, step, step, 1], padding
        ),
        "max_pool": lambda tf: tf.nn.max_pool2d(first, window, step, padding),
        "avg_pool": lambda tf: tf.nn.avg_pool2d(first, window, step, padding),
        "patches": lambda tf: tf.image.extract_patches(
            first, [1, *window, 1], [1, step, step, 1], [1, 2, 1, 1], padding
        ),
        "frame": lambda tf: tf.signal.frame(wave, length, hop, pad),
        "spectrum": lambda tf: tf.abs(tf.signal.stft(wave, length, hop, pad_end=pad)),
        "dct": lambda tf: tf.signal.dct(wave, norm=scaled),
        "band": lambda tf: tf.linalg.band_part(first[0, :, :, 0], *band),
        "sequences sparse": sparse,
        "sequences ragged": ragged,
    }


def _sequence(tf, steps):
    features = [
        tf.train.Feature(int64_list=tf.train.Int64List(value=own)) for own in steps
    ]
    lists = {"s": tf.train.FeatureList(feature=features)}
    return tf.train.SequenceExample(
        feature_lists=tf.train.FeatureLists(feature_list=lists)
    ).SerializeToString()
