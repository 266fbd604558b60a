"""Calls that measure pictures and choose boxes, the same on any module."""

from __future__ import annotations

import numpy as np

_random = np.random.default_rng(3)
A = _random.random((2, 14, 12, 3)).astype(np.float32)
B = (A * 0.8 + 0.1 * _random.random(A.shape)).astype(np.float32)
LARGE = _random.random((180, 177, 1)).astype(np.float32)
NOISY = np.clip(LARGE + 0.1 * _random.normal(size=LARGE.shape), 0, 1).astype(np.float32)
U, W = (_random.integers(0, 256, (16, 16, 3)).astype(np.uint8) for _ in range(2))


def corners(*shape):
    return np.sort(_random.random((*shape, 2, 2)), -2).reshape(*shape, 4)


BOXES = corners(12).astype(np.float32)
SCORES = _random.random(12).astype(np.float32)
OVERLAPS = _random.random((12, 12)).astype(np.float32)
PER_PICTURE = (corners(2, 9, 1) * 1.3).astype(np.float32)
PER_CLASS = corners(2, 9, 3).astype(np.float32)
CLASSES = _random.random((2, 9, 3)).astype(np.float32)
TWICE = np.stack([BOXES, BOXES]), np.stack([SCORES, SCORES[::-1]])

CASES = [
    lambda tf: tf.image.ssim(A, B, 1.0),
    lambda tf: tf.image.ssim(A[0], B, 1.0),
    lambda tf: tf.image.ssim(U, W, 255),
    lambda tf: tf.image.ssim(
        A, B, 1.0, filter_size=7, filter_sigma=1.0, k1=0.02, k2=0.05
    ),
    lambda tf: tf.image.ssim(A, B, 1.0, return_index_map=True),
    lambda tf: tf.image.ssim(A[:, :5], B[:, :5], 1.0),
    lambda tf: tf.image.ssim(A, B[:, :12], 1.0),
    lambda tf: tf.image.ssim_multiscale(LARGE, NOISY, 1.0),
    lambda tf: tf.image.ssim_multiscale(A, B, 1.0, (0.5, 0.5), filter_size=5),
    lambda tf: tf.image.ssim_multiscale(U, W, 255, (0.3, 0.7), filter_size=5),
    lambda tf: tf.image.psnr(A, B[0], 1.0),
    lambda tf: tf.image.psnr(U, U, 255),
    lambda tf: list(
        tf.image.non_max_suppression_with_scores(BOXES, SCORES, 5, 0.2, 0.1)
    ),
    lambda tf: list(
        tf.image.non_max_suppression_with_scores(BOXES, SCORES, 12, 0.9, 0.05, 0.5)
    ),
    lambda tf: list(
        tf.image.non_max_suppression_with_scores(BOXES, SCORES, 12, 1.0, 0.05, 0.1)
    ),
    lambda tf: tf.image.non_max_suppression_overlaps(OVERLAPS, SCORES, 6, 0.5),
    lambda tf: tf.image.non_max_suppression_overlaps(OVERLAPS, SCORES, 6, 0.8, 0.4),
    lambda tf: list(
        tf.image.non_max_suppression_padded(tf.constant(BOXES), SCORES, 8, 0.2)
    ),
    lambda tf: list(
        tf.image.non_max_suppression_padded(
            BOXES, SCORES, 8, 0.2, pad_to_max_output_size=True
        )
    ),
    lambda tf: list(
        tf.image.non_max_suppression_padded(
            *TWICE, 8, 0.2, 0.3, pad_to_max_output_size=True
        )
    ),
    lambda tf: list(tf.image.combined_non_max_suppression(PER_PICTURE, CLASSES, 3, 5)),
    lambda tf: list(
        tf.image.combined_non_max_suppression(PER_CLASS, CLASSES, 3, 5, 0.3, 0.4)
    ),
    lambda tf: list(
        tf.image.combined_non_max_suppression(
            PER_CLASS, CLASSES, 1, 9, pad_per_class=True
        )
    ),
    lambda tf: list(
        tf.image.combined_non_max_suppression(
            PER_PICTURE, CLASSES, 3, 20, clip_boxes=False, pad_per_class=True
        )
    ),
    lambda tf: tf.image.grayscale_to_rgb(images=tf.constant(A[..., :1])),
    lambda tf: tf.image.rgb_to_hsv(images=A),
    lambda tf: tf.image.flip_left_right(image=A, name=1),
    lambda tf: list(
        tf.image.non_max_suppression_with_scores(BOXES, SCORES, 12, 0.2, 0.05, 0.3)
    ),
]
