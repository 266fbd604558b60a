"""tf.data with AUTOTUNE and prefetch everywhere."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np  # noqa: E402
import rows  # noqa: E402
import tensorflow as tf  # noqa: E402

VERSION = f"tensorflow {tf.__version__}"
AUTO = tf.data.AUTOTUNE

_FEATURES = {
    "label": tf.io.FixedLenFeature([], tf.int64),
    "vec": tf.io.FixedLenFeature([64], tf.float32),
    "name": tf.io.FixedLenFeature([], tf.string),
    "ids": tf.io.VarLenFeature(tf.int64),
}


def increment(config, row, n):
    """AUTOTUNE, prefetch"""
    ds = tf.data.Dataset.range(n)
    if row == "P1b":
        ds = ds.batch(1024)
    ds = ds.map(lambda x: x + 1, num_parallel_calls=AUTO)
    return (ds.batch(1024) if row == "P1" else ds).prefetch(AUTO)


def photos(config, row, n):
    """its own decoder, AUTOTUNE, prefetch"""

    def load(path):
        image = tf.image.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(image, (224, 224)) / 255.0

    ds = tf.data.Dataset.from_tensor_slices(config.photos(n))
    return ds.map(load, num_parallel_calls=AUTO).batch(32).prefetch(AUTO)


def augmented(config, row, n):
    """its own decoder, which decodes the crop alone; AUTOTUNE, prefetch"""

    def load(path):
        data = tf.io.read_file(path)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.io.extract_jpeg_shape(data),
            tf.zeros([1, 0, 4]),
            area_range=(0.08, 1.0),
            aspect_ratio_range=(3 / 4, 4 / 3),
            use_image_if_no_bounding_boxes=True,
        )
        y, x, _ = tf.unstack(begin)
        h, w, _ = tf.unstack(size)
        image = tf.image.decode_and_crop_jpeg(data, [y, x, h, w], channels=3)
        image = tf.image.resize(image, (224, 224))
        return (tf.image.random_flip_left_right(image) - rows.MEAN) / rows.STD

    ds = tf.data.Dataset.from_tensor_slices(config.photos(n))
    return ds.map(load, num_parallel_calls=AUTO).batch(32).prefetch(AUTO)


def records(config, row, n):
    """checksums, read buffer of 8 MiB, prefetch, tensors not converted"""
    ds = tf.data.TFRecordDataset(config.records(row), buffer_size=8 << 20)
    return ds.batch(rows.ROWS[row].batch).prefetch(AUTO)


def examples(config, row, n):
    """checksums, read buffer of 8 MiB, AUTOTUNE, prefetch"""
    ds = tf.data.TFRecordDataset(config.records(row), buffer_size=8 << 20)
    if row == "P5s":
        ds = ds.map(lambda r: tf.io.parse_single_example(r, _FEATURES), AUTO)
        return ds.batch(256).prefetch(AUTO)
    ds = ds.batch(256).map(lambda r: tf.io.parse_example(r, _FEATURES), AUTO)
    return ds.prefetch(AUTO)


def _example(batch):
    ids = batch["ids"]
    lengths = np.bincount(ids.indices[:, 0].numpy(), minlength=len(batch["label"]))
    return (batch["label"].numpy(), batch["vec"].numpy(), batch["name"].numpy(),
            ids.values.numpy(), lengths)  # fmt: skip


def _python(fn, n, calls=AUTO, deterministic=None):
    ds = tf.data.Dataset.range(n).map(
        lambda x: tf.numpy_function(fn, [x], tf.int64), calls, deterministic
    )
    return ds.prefetch(AUTO)


def burn(config, row, n):
    """numpy_function, AUTOTUNE, prefetch"""
    return _python(rows.burn, n)


def nap(config, row, n):
    """numpy_function, AUTOTUNE, prefetch"""
    return _python(rows.sleep, n)


def nap_wide(config, row, n):
    """numpy_function, num_parallel_calls=16, a private pool of 16 threads"""
    options = tf.data.Options()
    options.threading.private_threadpool_size = 16
    return _python(rows.sleep, n, 16).with_options(options)


def uneven(config, row, n):
    """numpy_function, AUTOTUNE, prefetch"""
    return _python(rows.uneven, n, deterministic=row == "P8")


ROWS = {
    "P1": increment, "P1b": increment, "P2": increment, "P3": photos,
    "P3r": augmented, "P4-100": records, "P4-1000": records,
    "P4-100000": records, "P5": examples, "P5s": examples, "P6": burn,
    "P7": nap, "P7w": nap_wide, "P8": uneven, "P8u": uneven,
}  # fmt: skip
CANONICAL = {
    **{row: lambda batch: batch.numpy() for row in ("P4-100", "P4-1000", "P4-100000")},
    "P5": _example,
    "P5s": _example,
}
