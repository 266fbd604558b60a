"""The comparison of `make bench-peers` can fail, and its results can be read."""

from __future__ import annotations

import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "peers"
sys.path.insert(0, str(PEERS))
rows = pytest.importorskip("rows")
table = pytest.importorskip("table")
sys.path.remove(str(PEERS))


def digest(compare, items, photos=0):
    result = rows.Digest(compare, photos)
    for item in items:
        result.add(item)
    return result.result()


def differ(compare, ours, theirs, photos=0):
    a, b = (digest(compare, items, photos) for items in (ours, theirs))
    return rows.agree(compare, a, b)


def test_equal_numbers_agree_whatever_holds_them():
    assert differ("ints", [np.array([1, 2]), np.int64(3)], [[1, 2], 3]) is None


@pytest.mark.parametrize(
    "theirs", [[[1, 2], [3, 5]], [[2, 1], [3, 4]], [[1, 2]], [[1, 2, 3, 4]]]
)
def test_another_number_order_count_or_batch_is_found(theirs):
    assert differ("ints", [[1, 2], [3, 4]], theirs) is not None


def test_unordered_rows_may_change_order_but_not_values():
    assert differ("unordered", [1, 2, 3], [3, 1, 2]) is None
    assert differ("unordered", [1, 2, 3], [3, 1, 1]) == "other values"


def test_records_that_are_split_elsewhere_are_found():
    assert differ("records", [[b"ab", b"c"]], [[b"a", b"bc"]]) == "other values"


def example(labels=(1, 2), vector=0.5, names=(b"x", b"y"), ids=(7, 8), lengths=(2, 0)):
    vectors = np.full((2, 64), vector, np.float32)
    return [(np.array(labels), vectors, list(names), np.array(ids), lengths)]


@pytest.mark.parametrize(
    "other",
    [
        {"labels": (1, 3)},
        {"vector": np.float32(0.5) + np.float32(1e-7)},
        {"names": (b"x", b"z")},
        {"ids": (8, 7)},
        {"lengths": (1, 1)},
    ],
)
def test_any_other_feature_of_an_example_is_found(other):
    assert differ("examples", example(), example()) is None
    assert differ("examples", example(), example(**other)) == "other values"


def pictures(seed=0, n=64):
    coarse = np.random.default_rng(seed).random((n, 14, 14, 3), np.float32)
    return [coarse.repeat(16, 1).repeat(16, 2)]


def test_pictures_may_differ_by_rounding_only():
    ours = pictures()
    assert differ("images", ours, [ours[0] + np.float32(0.002)]) is None
    for broken in (
        ours[0][..., ::-1],
        ours[0][:, :, ::-1],
        ours[0] * 255,
        ours[0] + 0.01,
    ):
        why = differ("images", ours, [broken.astype(np.float32)])
        assert why is not None and "pictures differ" in why


def test_pictures_of_another_size_or_type_are_refused():
    with pytest.raises(ValueError, match="images of uint8"):
        digest("images", [np.zeros((1, 224, 224, 3), np.uint8)])


def test_random_pictures_that_are_not_random_are_found():
    ours = pictures()
    assert differ("random_images", ours, pictures(seed=1), photos=32) is None
    again = [np.concatenate([ours[0][:32]] * 2)]
    why = differ("random_images", ours, again, photos=32)
    assert why == "32 pictures came again unchanged"
    why = differ("random_images", ours, [pictures(seed=1)[0] * 1.5], photos=32)
    assert why is not None and "statistics" in why


def measured(**ratios):
    engines = {
        name: {"each": r, "ratio": r, "ratio_min": r * 0.9, "ratio_max": r * 1.1}
        for name, r in {"penstock": 1.0, **ratios}.items()
    }
    return {
        "engines": engines,
        "refused": {"ray": "a <reason> & more"},
        "how": dict.fromkeys(engines, "2 threads"),
        "absent": {"dali": "ERROR: No matching distribution found"},
        "versions": {"penstock": "penstock 0"},
        "repeats": 3,
        "other_load": 0.5,
        "time": 0,
    }


def test_results_are_tables_and_plots_that_parse(tmp_path):
    machine = {"cpu": "x", "cores": 2, "memory_gib": 1, "system": "y", "python": "3"}
    result = {
        "machine": machine,
        "command": "make bench-peers",
        "photos": "drawn",
        "rows": {
            "P1": measured(tfdata=12345.0, torch=0.5),
            "P2": measured(),
            "P12": measured(tfdata=20.0),
        },
    }
    paths = {path.name: path for path in table.write(result, tmp_path)}
    assert set(paths) == {"README.md", "peers.json", "elements.svg", "start.svg"}
    assert json.loads(paths["peers.json"].read_text()) == result
    text = paths["README.md"].read_text()
    assert "12,345x" in text and "0.5x" in text
    assert "used up to 0.50 of the 2 cores" in text
    assert "DALI (CPU) is missing: ERROR: No matching distribution" in text
    assert "Ray Data is not measured here: a <reason> & more" in text
    for name in ("elements.svg", "start.svg"):
        root = ElementTree.fromstring(paths[name].read_text())
        width = float(root.get("width"))
        for circle in root.iter("{http://www.w3.org/2000/svg}circle"):
            assert 0 < float(circle.get("cx")) < width
