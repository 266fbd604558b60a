"""tf.data with AUTOTUNE and prefetch everywhere."""

import os
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

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


def increment(config, row):
    ds = tf.data.Dataset.range(config.size(row))
    ds = ds.map(lambda x: x + 1, num_parallel_calls=AUTO)
    return (ds.batch(1024) if row == "P1" else ds).prefetch(AUTO)


def photos(config, row):
    def load(path):
        image = tf.image.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(image, (224, 224)) / 255.0

    ds = tf.data.Dataset.from_tensor_slices(config.photos(row))
    return ds.map(load, num_parallel_calls=AUTO).batch(32).prefetch(AUTO)


def augmented(config, row):
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

    ds = tf.data.Dataset.from_tensor_slices(config.photos(row))
    return ds.map(load, num_parallel_calls=AUTO).batch(32).prefetch(AUTO)


def records(config, row):
    ds = tf.data.TFRecordDataset(config.records(row), buffer_size=8 << 20)
    return ds.batch(1024).prefetch(AUTO).as_numpy_iterator()


def examples(config, row):
    ds = tf.data.TFRecordDataset(config.records(row)).batch(256)
    ds = ds.map(lambda r: tf.io.parse_example(r, _FEATURES), num_parallel_calls=AUTO)
    for batch in ds.prefetch(AUTO):
        yield batch["label"], batch["vec"], batch["ids"].values.shape[0]


def _python(fn, config, row):
    ds = tf.data.Dataset.range(config.size(row))
    return ds.map(
        lambda x: tf.numpy_function(fn, [x], tf.int64), num_parallel_calls=AUTO
    ).prefetch(AUTO)


def burn(config, row):
    return _python(rows.burn, config, row)


def nap(config, row):
    def sleep(x):
        time.sleep(0.1)
        return x

    return _python(sleep, config, row)


ROWS = {
    "P1": increment, "P2": increment, "P3": photos, "P3r": augmented,
    "P4-100": records, "P4-1000": records, "P4-100000": records,
    "P5": examples, "P6": burn, "P7": nap,
}  # fmt: skip
