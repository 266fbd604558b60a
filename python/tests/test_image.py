"""ps.image: on arrays, in traced functions, fused, and in pipelines."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import penstock as ps

PICTURES = np.arange(4 * 6 * 8 * 3, dtype=np.uint8).reshape(4, 6, 8, 3)


def photo(height, width, seed=0):
    """Something a JPEG can hold: waves in three colours."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    waves = [
        127 + 120 * np.sin(y * a + x * b) for a, b in rng.uniform(0.02, 0.2, (3, 2))
    ]
    return np.stack(waves, -1).astype(np.uint8)


JPEGS = [
    ps.image.encode_jpeg(photo(40 + 7 * i, 60 + 3 * i, i), quality=90) for i in range(6)
]

# Each takes a picture [h, w, 3] of uint8.
PLAIN = {
    "resize": lambda x: ps.image.resize(x, (3, 5)),
    "nearest": lambda x: ps.image.resize(x, (3, 5), method="nearest"),
    "bicubic": lambda x: ps.image.resize(x, (9, 5), method="bicubic"),
    "area": lambda x: ps.image.resize(x, (3, 4), method="area"),
    "lanczos3": lambda x: ps.image.resize(x, (3, 4), method="lanczos3", antialias=True),
    "lanczos5": lambda x: ps.image.resize(x, (3, 4), method="lanczos5"),
    "gaussian": lambda x: ps.image.resize(x, (3, 4), method="gaussian"),
    "mitchell": lambda x: ps.image.resize(x, (3, 4), method="mitchellcubic"),
    "fitted": lambda x: ps.image.resize(x, (3, 5), preserve_aspect_ratio=True),
    "resize_with_pad": lambda x: ps.image.resize_with_pad(x, 5, 5),
    "crop_or_pad": lambda x: ps.image.resize_with_crop_or_pad(x, 4, 12),
    "crop": lambda x: ps.image.crop_to_bounding_box(x, 1, 2, 3, 4),
    "pad": lambda x: ps.image.pad_to_bounding_box(x, 1, 2, 9, 11),
    "central": lambda x: ps.image.central_crop(x, 0.5),
    "left_right": lambda x: ps.image.flip_left_right(x),
    "up_down": lambda x: ps.image.flip_up_down(x),
    "rot90": lambda x: ps.image.rot90(x, 3),
    "transpose": lambda x: ps.image.transpose(x),
    "rotate": lambda x: ps.image.rotate(x, 0.3, fill_value=9),
    "to_float": lambda x: ps.image.convert_image_dtype(x, ps.float32),
    "to_16": lambda x: ps.image.convert_image_dtype(x, ps.uint16),
    "chw": lambda x: ps.image.hwc_to_chw(x),
    "brightness": lambda x: ps.image.adjust_brightness(x, 0.1),
    "contrast": lambda x: ps.image.adjust_contrast(x, 1.5),
    "saturation": lambda x: ps.image.adjust_saturation(x, 0.5),
    "hue": lambda x: ps.image.adjust_hue(x, 0.2),
    "gamma": lambda x: ps.image.adjust_gamma(x, 2.0, 0.9),
    "grey": lambda x: ps.image.rgb_to_grayscale(x),
    "rgb": lambda x: ps.image.grayscale_to_rgb(ps.image.rgb_to_grayscale(x)),
    "hsv": lambda x: ps.image.rgb_to_hsv(ps.image.convert_image_dtype(x, "float32")),
    "yuv": lambda x: ps.image.rgb_to_yuv(ps.image.convert_image_dtype(x, "float32")),
    "normalize": lambda x: ps.image.normalize(x, (1.0, 2.0, 3.0), 2.0),
    "standardize": lambda x: ps.image.per_image_standardization(x),
}
RANDOM = {
    "flip": lambda x: ps.image.random_flip_left_right(x),
    "flip_up_down": lambda x: ps.image.random_flip_up_down(x),
    "brightness": lambda x: ps.image.random_brightness(x, 0.3),
    "contrast": lambda x: ps.image.random_contrast(x, 0.5, 1.5),
    "saturation": lambda x: ps.image.random_saturation(x, 0.5, 1.5),
    "hue": lambda x: ps.image.random_hue(x, 0.2),
    "gamma": lambda x: ps.image.random_gamma(x, 0.5, 1.5),
    "jitter": lambda x: ps.image.color_jitter(x, 0.1, 0.1, 0.1, 0.1),
    "crop": lambda x: ps.image.random_crop(x, (3, 4)),
    "resized_crop": lambda x: ps.image.random_resized_crop(x, (4, 4)),
    "box": lambda x: ps.image.sample_distorted_bounding_box(
        (60, 80, 3), np.array([[[0.1, 0.1, 0.9, 0.8]]], np.float32)
    ),
}


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, tuple):
        for x, y in zip(a, b):
            same(x, y)
        return
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)
    else:
        assert a == b


@pytest.mark.parametrize("name", PLAIN)
def test_traced_and_eager_give_the_same_bits(name):
    fn = PLAIN[name]
    ds = ps.Dataset.from_tensor_slices(PICTURES).map(fn, executor="native")
    spec = ds.element_spec
    for got, picture in zip(ds, PICTURES):
        expected = fn(picture)
        same(got, expected)
        assert spec.dtype.as_numpy_dtype == expected.dtype
        dims = zip(spec.shape, expected.shape)
        assert len(spec.shape) == 3 and all(a in (None, b) for a, b in dims)


@pytest.mark.parametrize("name", PLAIN)
def test_a_batch_gives_what_its_pictures_give(name):
    fn = PLAIN[name]
    batch = fn(PICTURES)
    np.testing.assert_array_equal(batch, np.stack([fn(x) for x in PICTURES]))
    ds = ps.Dataset.from_tensor_slices(PICTURES).batch(4).map(fn, executor="native")
    same(next(iter(ds)), batch)


@pytest.mark.parametrize("name", RANDOM)
def test_random_operations_are_keyed_to_the_element(name):
    fn = RANDOM[name]

    def run(executor, workers):
        ds = ps.Dataset.from_tensor_slices(PICTURES).repeat(5)
        ds = ds.map(fn, executor=executor, num_parallel_calls=workers)
        return ds.with_options(ps.Options(seed=5)).to_list()

    native = run("native", 1)
    for other in (run("native", 4), run("thread", 2)):
        for a, b in zip(native, other):
            same(a, b)
    first = [repr(x) for x in native[::4]]
    assert len(set(first)) > 1, "the same picture is changed in the same way"


def test_random_values_differ_from_epoch_to_epoch_and_resume():
    ds = ps.Dataset.from_tensor_slices(np.repeat(PICTURES, 8, 0))
    ds = ds.map(RANDOM["resized_crop"], executor="native")
    ds = ds.with_options(ps.Options(seed=5))
    first, second = ds.to_list(), ds.to_list()
    assert any(not np.array_equal(a, b) for a, b in zip(first, second))
    it = ds.iterator()
    head = [next(it) for _ in range(7)]
    rest = list(ds.iterator(state=it.state_dict()))
    whole = head + list(it)
    for a, b in zip(whole[7:], rest):
        same(a, b)
    assert len(rest) == 25


def test_a_seed_of_ones_own_fixes_the_picture():
    first = ps.image.random_crop(PICTURES[0], (2, 2), seed=3)
    same(first, ps.image.random_crop(PICTURES[0], (2, 2), seed=3))
    others = [ps.image.random_crop(PICTURES[0], (2, 2), seed=(3, i)) for i in range(9)]
    assert any(not np.array_equal(first, o) for o in others)


def test_parameters_may_be_computed_for_each_element():
    def crop(x):
        image, i = x["image"], x["i"]
        part = ps.image.crop_to_bounding_box(image, i, i + 1, 3, 4)
        return ps.image.adjust_brightness(part, i / 10)

    source = {"image": PICTURES, "i": np.arange(4) % 3}
    ds = ps.Dataset.from_tensor_slices(source).map(crop, executor="native")
    for n, got in enumerate(ds):
        i = n % 3
        part = PICTURES[n][i : i + 3, i + 1 : i + 5]
        same(got, ps.image.adjust_brightness(part, i / 10))


def test_mixup_and_cutmix_mix_labels_by_what_was_mixed():
    labels = ps.one_hot(np.arange(4), 4)
    flat = np.stack([np.full((6, 8, 3), v, np.uint8) for v in (0, 10, 20, 30)])
    ds = ps.Dataset.from_tensor_slices((flat, labels)).batch(4)
    for name in ("mixup", "cutmix"):
        fn = getattr(ps.image, name)
        images, mixed = next(iter(ds.map(lambda x, y, fn=fn: fn(x, y))))
        np.testing.assert_allclose(mixed.sum(axis=1), 1, atol=1e-6)
        means = images.reshape(4, -1).astype(float).mean(axis=1)
        np.testing.assert_allclose(means, mixed @ [0, 10, 20, 30], atol=1e-3)


def test_mixup_of_a_tiny_alpha_takes_one_picture_or_the_other():
    images = np.zeros((8, 2, 2, 1), np.float32)
    shares = [
        ps.image.mixup(images, ps.one_hot(np.arange(8), 8), 1e-6, seed=s)[1]
        for s in range(4)
    ]
    assert set(np.unique(shares)) == {0.0, 1.0}
    kept = np.diagonal(shares, axis1=1, axis2=2)
    assert 0 < kept.sum() < kept.size


def test_files_round_trip():
    picture = photo(20, 30)
    same(ps.image.decode_png(ps.image.encode_png(picture)), picture)
    same(ps.image.decode_webp(ps.image.encode_webp(picture, lossless=True)), picture)
    decoded = ps.image.decode_jpeg(ps.image.encode_jpeg(picture, quality=100))
    assert np.abs(decoded.astype(int) - picture).mean() < 6
    deep = (picture.astype(np.uint16) << 8) + 7
    same(ps.image.decode_png(ps.image.encode_png(deep), dtype=ps.uint16), deep)
    for encode in (ps.image.encode_png, ps.image.encode_webp, ps.image.encode_jpeg):
        assert ps.image.decode_image(encode(picture)).shape == (20, 30, 3)
    file = ps.image.encode_jpeg(picture)
    same(
        ps.image.decode_and_crop_jpeg(file, (3, 5, 8, 9)),
        ps.image.decode_jpeg(file)[3:11, 5:14],
    )
    assert ps.image.extract_jpeg_shape(file).tolist() == [20, 30, 3]
    assert ps.image.decode_jpeg(file, ratio=2, channels=1).shape == (10, 15, 1)


def test_codecs_run_in_traced_functions():
    def again(file):
        picture = ps.image.decode_jpeg(file, channels=3)
        shape = ps.image.extract_jpeg_shape(file)
        return ps.image.decode_png(ps.image.encode_png(picture)), shape

    ds = ps.Dataset.from_tensor_slices(np.array(JPEGS, object))
    for (picture, shape), file in zip(ds.map(again, executor="native"), JPEGS):
        same(picture, ps.image.decode_jpeg(file))
        assert shape.tolist() == list(picture.shape)


# --- fusion -----------------------------------------------------------------


def chains(count):
    """Random chains of operations behind a decoder, in any order."""
    rng = random.Random(11)
    crops = [
        lambda x: ps.image.random_crop(x, (20, 25)),
        lambda x: ps.image.central_crop(x, 0.7),
        lambda x: ps.image.crop_to_bounding_box(x, 3, 4, 21, 30),
        lambda x: ps.image.random_resized_crop(x, (16, 18)),
    ]
    sizes = [
        lambda x: ps.image.resize(x, (17, 23)),
        lambda x: ps.image.resize(x, (16, 16), method="area"),
        lambda x: ps.image.resize(x, (16, 16), method="nearest"),
        lambda x: ps.image.resize(x, (31, 16), method="bicubic", antialias=True),
        lambda x: ps.image.resize(x, (20, 20), preserve_aspect_ratio=True),
    ]
    flips = [
        lambda x: ps.image.flip_left_right(x),
        lambda x: ps.image.random_flip_left_right(x),
        lambda x: ps.image.flip_up_down(x),
    ]
    ends = [
        lambda x: ps.image.normalize(x, (120.0, 110.0, 100.0), (50.0, 60.0, 70.0)),
        lambda x: ps.image.normalize(ps.cast(x, ps.float32), 100.0, 3.0),
        lambda x: ps.cast(x, ps.float32),
    ]
    mean = np.array([120, 110, 100], np.float32)
    arithmetic = [
        lambda x: ps.cast(x, ps.float32) / 255.0,
        lambda x: 1.0 - ps.cast(x, ps.float32) / np.float32(127.5),
        lambda x: (ps.cast(x, ps.float32) - mean) * np.float32(0.02),
        lambda x: mean.reshape(1, 3) / (ps.cast(x, ps.float32) + 1000),
        lambda x: x / 255,
    ]
    groups = (crops, sizes, flips, ends, arithmetic, flips)
    for _ in range(count):
        steps = [rng.choice(g) for g in groups if rng.random() < 0.6]
        if rng.random() < 0.3:
            rng.shuffle(steps)
        yield steps


def test_fused_and_single_operations_give_the_same_bits():
    fused = 0
    for steps in chains(60):
        first, *rest = steps or [lambda x: x]

        def prepare(file, first=first, rest=tuple(rest)):
            x = first(ps.image.decode_jpeg(file, channels=3))
            for step in rest:
                x = step(x)
            return x

        ds = ps.Dataset.from_tensor_slices(np.array(JPEGS, object))
        options = ps.Options(seed=3)
        native = ds.map(prepare, executor="native").with_options(options)
        single = ds.map(prepare, executor="thread").with_options(options)
        fused += "fused" in native.explain()
        for a, b in zip(native, single):
            same(a, b)
    assert fused > 30


@pytest.mark.parametrize(
    "options", [{}, {"acceptable_fraction": 0.9}, {"strict": True}]
)
def test_a_file_that_is_bad_below_the_crop_fails_fused_as_unfused(options):
    whole = ps.image.encode_jpeg(photo(200, 60), quality=90)
    thumbnail = b"\xff\xe1\x00\x08ab\xff\xd9cd"
    cut = whole[:2] + thumbnail + whole[2 : len(whole) // 2]
    files = np.array([whole, cut, whole + b"trailer", cut + b"\xff\xd9"], object)

    def prepare(file):
        x = ps.image.decode_jpeg(file, channels=3, **options)
        return ps.image.crop_to_bounding_box(x, 0, 0, 16, 16)

    found = {}
    for executor in ("native", "thread"):
        ds = ps.Dataset.from_tensor_slices(files).map(prepare, executor=executor)
        it, found[executor] = iter(ds), []
        for _ in files:
            try:
                found[executor].append(next(it).tobytes())
            except ps.DataLossError:
                found[executor].append(None)
        if executor == "native":
            assert "fused decode_jpeg + crop_to_bounding_box" in ds.explain()
    assert found["native"] == found["thread"]
    assert [f is None for f in found["native"]] == [
        False, True, False, "strict" in options
    ]  # fmt: skip


def test_explain_says_what_was_fused_and_what_was_not():
    def prepare(file):
        x = ps.image.decode_jpeg(file, channels=3)
        x = ps.image.random_resized_crop(x, (16, 16))
        x = ps.image.random_flip_left_right(x)
        return ps.image.normalize(x, 120.0, 60.0)

    files = ps.Dataset.from_tensor_slices(np.array(JPEGS, object))
    text = files.map(prepare).batch(2).explain()
    assert (
        "fused decode_jpeg + random_resized_crop + random_flip_left_right + normalize"
        in text
    )

    def late(file):
        x = ps.image.flip_left_right(ps.image.decode_jpeg(file))
        return ps.image.resize(x, (8, 8))

    text = files.map(late).explain()
    assert "fused decode_jpeg + flip_left_right, resize comes too late" in text

    def scaled(file):
        x = ps.image.resize(ps.image.decode_jpeg(file, channels=3), (8, 8))
        return ps.image.flip_left_right((x / 255 - np.float32(0.5)) * 2)

    text = files.map(scaled).explain()
    assert (
        "fused decode_jpeg + resize + divide + subtract + multiply + flip_left_right)"
        in text
    )

    def alone(file):
        return ps.image.adjust_gamma(ps.image.decode_jpeg(file), 2.0)

    assert "adjust_gamma runs by itself" in files.map(alone).explain()


@pytest.mark.parametrize(
    ("decode", "why"),
    [
        (lambda f: ps.image.decode_jpeg(f, ratio=2), "decode_jpeg: ratio is not 1"),
        (lambda f: ps.image.decode_png(f), "decode_png: only JPEG is decoded in parts"),
        (lambda f: ps.image.decode_image(f, channels=3), "expand_animations is set"),
        (
            lambda f: ps.image.decode_image(
                f, dtype=ps.float32, expand_animations=False
            ),
            "dtype is not uint8",
        ),
        (
            lambda f: ps.image.decode_and_crop_jpeg(f, (0, 0, 9, 9)),
            "decode_and_crop_jpeg: it crops by itself",
        ),
    ],
)
def test_explain_says_why_a_decoder_is_not_fused(decode, why):
    files = ps.Dataset.from_tensor_slices(np.array(JPEGS, object))
    assert "nothing fused" not in files.map(lambda f: decode(f)).explain()
    text = files.map(lambda f: ps.image.resize(decode(f), (8, 8))).explain()
    assert "nothing fused into" in text and why in text


def test_explain_says_why_an_operation_or_map_is_not_fused():
    files = ps.Dataset.from_tensor_slices((np.array(JPEGS, object), np.arange(6)))

    def at(file, y):
        x = ps.image.decode_jpeg(file, channels=3)
        return ps.image.crop_to_bounding_box(x, y, 0, 8, 8)

    assert "crop_to_bounding_box has computed parameters" in files.map(at).explain()

    def crop(file, _):
        x = ps.image.decode_jpeg(file, channels=3)
        return ps.image.random_crop(x, (20, 20))

    def resize(x):
        return ps.image.resize(x, (8, 8))

    text = files.map(crop).map(resize).explain()
    assert "map#1 and map#2: not fused: the first is random" in text
    text = files.map(lambda file, _: ps.image.decode_jpeg(file)).map(
        resize, num_parallel_calls=1
    ).explain()  # fmt: skip
    assert "map#1 and map#2: not fused: num_parallel_calls is given" in text


def test_maps_behind_each_other_are_fused_too():
    joined = 0
    for steps in chains(60):
        ds = ps.Dataset.from_tensor_slices(np.array(JPEGS, object))
        ds = ds.map(lambda file: ps.image.decode_jpeg(file, channels=3))
        apart = ds.prefetch(2)
        for step in steps:
            ds = ds.map(lambda x, step=step: step(x), executor="native")
            # A bound between two maps keeps them apart.
            apart = apart.map(lambda x, step=step: step(x), executor="native")
            apart = apart.prefetch(2)
        options = ps.Options(seed=3)
        joined += "map#1 and map#2" in ds.explain()
        assert "map#1 and" not in apart.explain()
        random = "random" in str([s.__code__.co_names for s in steps])
        if random:
            continue  # stages have other numbers, and so other random values
        it = iter(ds.with_options(options))
        got = list(it)
        for a, b in zip(got, apart.with_options(options), strict=True):
            same(a, b)
        stages = it.stats().stages
        assert all(s["elements"] == len(JPEGS) for s in stages if "map" in s["stage"])
    assert joined > 20


def test_random_maps_keep_their_values_when_they_are_fused():
    def crop(x):
        return ps.image.random_resized_crop(x, (16, 16))

    def decode(file):
        return ps.image.decode_jpeg(file, channels=3)

    files = ps.Dataset.from_tensor_slices(np.array(JPEGS, object))
    options = ps.Options(seed=5)
    fused = files.map(decode).map(crop).with_options(options)
    single = files.map(decode, executor="thread").map(crop).with_options(options)
    assert "map#1 and map#2" in fused.explain()
    assert "map#1 and map#2" not in single.explain()
    for a, b in zip(fused, single, strict=True):
        same(a, b)


def test_an_error_of_fused_maps_names_the_one_that_decodes():
    files = ps.Dataset.from_tensor_slices(np.array([JPEGS[0][:200]], object))
    ds = files.map(ps.image.decode_jpeg, name="decode").map(
        lambda x: ps.image.resize(x, (8, 8))
    )
    with pytest.raises(ps.Error, match="map#1:decode: element 0: image.decode"):
        ds.to_list()


def test_scaled_decoding_is_only_done_when_allowed():
    file = ps.image.encode_jpeg(photo(256, 320), quality=95)

    def make(allowed):
        def small(x):
            x = ps.image.decode_jpeg(x, allow_scaled_decoding=allowed)
            return ps.image.resize(x, (32, 40))

        ds = ps.Dataset.from_tensor_slices(np.array([file], object))
        return next(iter(ds.map(small, executor="native")))

    exact = ps.image.resize(ps.image.decode_jpeg(file), (32, 40))
    same(make(False), exact)
    scaled = make(True)
    assert not np.array_equal(scaled, exact)
    assert np.abs(scaled - exact).mean() < 6


def test_pictures_are_batched_as_they_are_decoded():
    def prepare(file):
        x = ps.image.resize(ps.image.decode_jpeg(file, channels=3), (16, 16))
        return ps.image.normalize(x, 120.0, 60.0)

    ds = ps.Dataset.from_tensor_slices(np.array(JPEGS, object)).map(prepare)
    batch = next(iter(ds.batch(6)))
    assert batch.shape == (6, 16, 16, 3)
    for got, file in zip(batch, JPEGS):
        same(got, prepare(file))


# --- mistakes ---------------------------------------------------------------


def test_a_flat_picture_is_refused_with_the_fix():
    with pytest.raises(ps.InvalidArgumentError, match=r"image\.resize.*reshape"):
        ps.image.resize(np.zeros(12, np.uint8), (2, 2))
    flat = ps.Dataset.from_tensor_slices(PICTURES.reshape(4, -1))
    with pytest.raises(ps.InvalidArgumentError, match="3 or 4 dimensions"):
        flat.map(lambda x: ps.image.resize(x, (2, 2)), executor="native")


def test_a_png_is_refused_wherever_it_is_cut():
    file = ps.image.encode_png(photo(9, 7))
    ps.image.decode_png(file + b"behind it")
    for end in range(len(file)):
        with pytest.raises(ps.Error, match="PNG|the data are no"):
            ps.image.decode_image(file[:end])
    damaged = bytearray(file)
    damaged[-14] ^= 1  # the checksum of the pixels
    with pytest.raises(ps.DataLossError, match="checksum"):
        ps.image.decode_png(bytes(damaged))


@pytest.mark.parametrize("fused", [False, True])
def test_broken_files_are_errors_of_their_elements(fused):
    def prepare(file):
        x = ps.image.decode_jpeg(file, channels=3)
        return ps.image.resize(x, (4, 4)) if fused else x

    files = np.array([JPEGS[0], b"no jpeg", JPEGS[1][:200], JPEGS[2]], object)
    ds = ps.Dataset.from_tensor_slices(files).map(
        prepare, executor="native", name="load"
    )
    it = iter(ds)
    next(it)
    with pytest.raises(ps.InvalidArgumentError) as no_jpeg:
        next(it)
    message = str(no_jpeg.value)
    assert "image.decode_jpeg" in message
    assert "map#1:load" in message and "element 1" in message
    with pytest.raises(ps.Error, match=r"decode_jpeg"):
        next(it)
    assert next(it).ndim == 3
    assert ds.ignore_errors().to_list()[1].shape[2] == 3


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: ps.image.resize(x, (0, 4)), r"size must be .*\(0, 4\)"),
        (lambda x: ps.image.resize(x, (1 << 62, 4)), r"size must be less than 2\^31"),
        (lambda x: ps.image.resize(x, 4), r"size must be \(height, width\), got 4"),
        (
            lambda x: ps.image.resize(x, (2, 2), method="best"),
            "^image.resize: method must be .*, got 'best'",
        ),
        (
            lambda x: ps.image.central_crop(x, 2.0),
            r"central_crop: central_fraction must be in \(0, 1\]",
        ),
        (lambda x: ps.image.crop_to_bounding_box(x, 4, 4, 9, 9), "not inside"),
        (lambda x: ps.image.random_crop(x, (9, 9)), "does not fit"),
        (lambda x: ps.image.random_hue(x, 0.7), "max_delta"),
        (lambda x: ps.image.rgb_to_hsv(x), "float16 or float32"),
        (lambda x: ps.image.adjust_gamma(x, -1.0), "gamma"),
        (lambda x: ps.image.resize(x.astype(np.int64), (2, 2)), "cast it first"),
        (lambda x: ps.image.grayscale_to_rgb(x), "1 channel"),
    ],
)
def test_wrong_arguments_name_operation_rule_and_value(call, text):
    with pytest.raises(ps.InvalidArgumentError, match=text):
        call(PICTURES[0])


def test_wrong_types_are_type_errors():
    with pytest.raises(TypeError, match="max_delta must be a number"):
        ps.image.random_brightness(PICTURES[0], "much")
    with pytest.raises(TypeError, match="k must be a whole number"):
        ps.image.rot90(PICTURES[0], 1.5)
    assert math.isclose(ps.image.rot90(PICTURES[0], np.int64(4)).mean(),
                        PICTURES[0].mean())  # fmt: skip


@pytest.mark.parametrize(
    "encode, decode",
    [
        (ps.image.encode_png, ps.image.decode_png),
        (ps.image.encode_jpeg, ps.image.decode_jpeg),
        (ps.image.encode_webp, ps.image.decode_webp),
        (ps.image.encode_png, ps.image.decode_image),
    ],
)
def test_nothing_above_max_image_pixels_is_decoded(encode, decode):
    file = encode(np.zeros((10, 12, 3), np.uint8))
    assert decode(file, max_image_pixels=120).shape == (10, 12, 3)
    with pytest.raises(ps.ResourceExhaustedError, match="10 x 12 pixels"):
        decode(file, max_image_pixels=119)


@pytest.mark.parametrize("space", ["hsv", "yuv"])
def test_colour_spaces_keep_float16(space):
    there = getattr(ps.image, f"rgb_to_{space}")
    back = getattr(ps.image, f"{space}_to_rgb")
    x = np.random.default_rng(1).random((4, 5, 3)).astype(np.float16)
    assert there(x).dtype == back(there(x)).dtype == np.float16
    np.testing.assert_allclose(back(there(x)), x, atol=5e-3)
    traced = ps.Dataset.from_tensors(x).map(there, executor="native")
    assert traced.element_spec.dtype == ps.float16
