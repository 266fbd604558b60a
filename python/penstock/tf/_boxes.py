"""Boxes of `tf.image`: choosing and drawing them. They run as Python."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf._apply import eager_only, traceable
from penstock.tf._values import convert_to_tensor, wrap

_LOWEST = float("-inf")


def _arrays(op: str, *values: Any) -> list[Any]:
    eager_only(op, *values)
    return [np.asarray(convert_to_tensor(v)).astype(np.float32) for v in values]


def _overlap(corners: Any) -> Callable[[int, list[int]], Any]:
    """What a box shares with others, as a part of both together."""
    low = np.minimum(corners[:, :2], corners[:, 2:])
    high = np.maximum(corners[:, :2], corners[:, 2:])
    area = np.prod(high - low, axis=1)

    def shared(i: int, others: list[int]) -> Any:
        size = np.minimum(high[i], high[others]) - np.maximum(low[i], low[others])
        common = np.prod(np.maximum(size, 0), axis=1)
        together = area[i] + area[others] - common
        return np.divide(
            common, together, out=np.zeros_like(common), where=together > 0
        )

    return shared


def _chosen(
    scores: Any,
    count: int,
    overlap: Callable[[int, list[int]], Any],
    threshold: float,
    least: float,
    sigma: float = 0.0,
) -> tuple[list[int], list[float]]:
    """The best of all that do not overlap much with better ones.

    With `sigma` an overlap lowers a score instead, whatever the threshold (Bodla
    and others, "Soft-NMS", 2017), so a lowered one waits for its turn again.
    """
    waiting = [(-float(s), i, 0) for i, s in enumerate(scores) if s > least]
    heapq.heapify(waiting)
    kept: list[int] = []
    values: list[float] = []
    while waiting and len(kept) < count:
        negative, i, seen = heapq.heappop(waiting)
        found = overlap(i, kept[seen:]) if len(kept) > seen else np.zeros(0)
        if sigma <= 0 and (found > threshold).any():
            continue
        score = -negative
        if sigma > 0:
            lowered = score * float(np.exp(-0.5 / sigma * np.sum(found**2)))
            if lowered != score:
                if lowered > least:
                    heapq.heappush(waiting, (-lowered, i, len(kept)))
                continue
        kept.append(i)
        values.append(score)
    return kept, values


@traceable
def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: float = 0.5,
    score_threshold: float = _LOWEST,
    name: str | None = None,
) -> Any:
    """The best boxes that do not overlap much, by their numbers.

    >>> import penstock.tf as tf
    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [0.0, 2.0, 1.0, 3.0]]
    >>> tf.image.non_max_suppression(boxes, [0.9, 0.8, 0.7], 3).numpy()
    array([0, 2], dtype=int32)
    """
    corners, values = _arrays("non_max_suppression", boxes, scores)
    limits = float(iou_threshold), float(score_threshold)
    kept, _ = _chosen(values, int(max_output_size), _overlap(corners), *limits)
    return wrap(np.array(kept, np.int32))


@traceable
def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: float = 0.5,
    score_threshold: float = _LOWEST,
    soft_nms_sigma: float = 0.0,
    name: str | None = None,
) -> Any:
    """(numbers, scores) of the best boxes; with a sigma overlaps lower scores."""
    corners, values = _arrays("non_max_suppression_with_scores", boxes, scores)
    kept, left = _chosen(
        values,
        int(max_output_size),
        _overlap(corners),
        float(iou_threshold),
        float(score_threshold),
        float(soft_nms_sigma),
    )
    return wrap(np.array(kept, np.int32)), wrap(np.array(left, np.float32))


@traceable
def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: float = 0.5,
    score_threshold: float = _LOWEST,
    name: str | None = None,
) -> Any:
    """The best of those that do not overlap much, by a matrix of overlaps."""
    shared, values = _arrays("non_max_suppression_overlaps", overlaps, scores)
    limits = float(overlap_threshold), float(score_threshold)
    kept, _ = _chosen(
        values, int(max_output_size), lambda i, others: shared[i, others], *limits
    )
    return wrap(np.array(kept, np.int32))


@traceable
def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: float = 0.5,
    score_threshold: float = _LOWEST,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> Any:
    """(numbers, how many count) of the best boxes, of a batch as well."""
    corners, values = _arrays("non_max_suppression_padded", boxes, scores)
    count = int(max_output_size)
    lead = corners.shape[:-2]
    if lead and not pad_to_max_output_size:
        raise ValueError("`pad_to_max_output_size` must be True for batches of boxes.")
    limits = float(iou_threshold), float(score_threshold)
    rows = [
        _chosen(values[i], count, _overlap(corners[i]), *limits)[0]
        for i in np.ndindex(*lead)
    ]
    valid = np.array([len(row) for row in rows], np.int32).reshape(lead)
    if not pad_to_max_output_size:
        return wrap(np.array(rows[0], np.int32)), wrap(valid[()])
    padded = np.array([row + [0] * (count - len(row)) for row in rows], np.int32)
    return wrap(padded.reshape(*lead, count)), wrap(valid[()])


class CombinedNonMaxSuppression(NamedTuple):
    """The best boxes of all classes, of each picture."""

    nmsed_boxes: Any
    nmsed_scores: Any
    nmsed_classes: Any
    valid_detections: Any


@traceable
def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: float = 0.5,
    score_threshold: float = _LOWEST,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """The best boxes of each class, and of those the best, of each picture.

    >>> import penstock.tf as tf
    >>> boxes = [[[[0, 0, 1, 1]], [[0, 0, 1, 0.9]]]]
    >>> found = tf.image.combined_non_max_suppression(
    ...     boxes, [[[0.9, 0.1], [0.8, 0.6]]], 2, 3)
    >>> found.nmsed_classes.numpy().tolist(), found.valid_detections.numpy().tolist()
    ([[0.0, 1.0, 0.0]], [2])
    """
    corners, values = _arrays("combined_non_max_suppression", boxes, scores)
    pictures, _, own, _ = corners.shape
    classes = values.shape[2]
    if own not in (1, classes):
        raise InvalidArgumentError(
            f"combined_non_max_suppression: boxes must be of 1 or of {classes} "
            f"classes, got {own}"
        )
    each, total = int(max_output_size_per_class), int(max_total_size)
    size = min(total, each * classes) if pad_per_class else total
    made_boxes = np.zeros((pictures, size, 4), np.float32)
    made_scores = np.zeros((pictures, size), np.float32)
    made_classes = np.zeros((pictures, size), np.float32)
    valid = np.zeros(pictures, np.int32)
    limits = float(iou_threshold), float(score_threshold)
    for p in range(pictures):
        found: list[tuple[float, int, int]] = []
        for c in range(classes):
            mine = corners[p, :, c if own > 1 else 0]
            kept, left = _chosen(values[p, :, c], each, _overlap(mine), *limits)
            found.extend((-s, c, i) for i, s in zip(kept, left, strict=True))
        found.sort(key=lambda item: item[0])
        valid[p] = min(len(found), size)
        for place, (negative, c, i) in enumerate(found[:size]):
            made_boxes[p, place] = corners[p, i, c if own > 1 else 0]
            made_scores[p, place] = -negative
            made_classes[p, place] = c
    if clip_boxes:
        made_boxes = np.clip(made_boxes, 0, 1)
    parts = made_boxes, made_scores, made_classes, valid
    return CombinedNonMaxSuppression(*map(wrap, parts))


@traceable
def draw_bounding_boxes(
    images: Any, boxes: Any, colors: Any, name: str | None = None
) -> Any:
    """Pictures with the edges of boxes drawn on them."""
    eager_only("draw_bounding_boxes", images, boxes, colors)
    out = np.asarray(convert_to_tensor(images)).astype(np.float32)
    corners = np.asarray(convert_to_tensor(boxes))
    paints = None if colors is None else np.asarray(convert_to_tensor(colors))
    if paints is None or not len(paints):
        paints = np.array(
            [[1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1]]
        )
    height, width, depth = out.shape[1:]
    for picture, own in zip(out, corners, strict=True):
        for i, box in enumerate(own):
            paint = paints[i % len(paints)][:depth]
            y1, y2 = (int(v * (height - 1)) for v in box[[0, 2]])
            x1, x2 = (int(v * (width - 1)) for v in box[[1, 3]])
            rows = slice(max(y1, 0), min(y2, height - 1) + 1)
            columns = slice(max(x1, 0), min(x2, width - 1) + 1)
            for y in (y1, y2):
                if 0 <= y < height:
                    picture[y, columns] = paint
            for x in (x1, x2):
                if 0 <= x < width:
                    picture[rows, x] = paint
    return wrap(out)
