"""Functions of flat_map and interleave that run as templates, without the GIL."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import penstock as ps


def texts(tmp_path, count=3):
    names = []
    for i in range(count):
        path = tmp_path / f"{i}.txt"
        path.write_text("".join(f"{i}-{k}\n" for k in range(i + 2)))
        names.append(str(path))
    return names


def records(tmp_path, count=3):
    names = []
    for i in range(count):
        names.append(str(tmp_path / f"{i}.tfrecord"))
        with ps.io.TFRecordWriter(names[-1]) as writer:
            for k in range(i + 2):
                writer.write(ps.io.serialize_example({"v": 10 * i + k}))
    return names


def runs_as_template(ds):
    text = ds.explain()
    return "native (a template" in text


RANGES = {
    "range": lambda n: ps.Dataset.range(n),
    "two ends": lambda n: ps.Dataset.range(n, n + 3),
    "step": lambda n: ps.Dataset.range(10, n, -2),
    "constant": lambda n: ps.Dataset.range(3),
    "chain": lambda n: ps.Dataset.range(n).map(lambda x: x * 2).batch(2),
    "filter": lambda n: ps.Dataset.range(n).filter(lambda x: x % 2 == 0).repeat(2),
    "tensors": lambda n: ps.Dataset.from_tensors((n, n * 0.5)).repeat(2),
    "dict": lambda n: ps.Dataset.from_tensors({"a": n, "b": ps.stack([n, n])}),
    "slices": lambda n: ps.Dataset.from_tensor_slices(ps.stack([n, n + 1])),
    "zip": lambda n: ps.Dataset.zip(ps.Dataset.range(n), ps.Dataset.range(5)),
    "both": lambda n: ps.Dataset.range(n).concatenate(ps.Dataset.range(2)),
    "enumerate": lambda n: ps.Dataset.range(n).enumerate().skip(1),
    "shuffle": lambda n: ps.Dataset.range(n).shuffle(4, seed=3),
}


def plain(value):
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return np.asarray(value).tolist()


def by_python(fn):
    """The same function where tracing cannot follow."""

    def call(n):
        print(end="")
        return fn(n)

    return call


@pytest.mark.parametrize("name", RANGES)
def test_templates_give_what_python_gives(name):
    fn = RANGES[name]
    source = ps.Dataset.range(6)
    for method in ("flat_map", "interleave"):
        ds = getattr(source, method)(fn)
        assert runs_as_template(ds), ds.explain()
        slow = getattr(source, method)(by_python(fn))
        assert not runs_as_template(slow)
        assert [plain(x) for x in ds] == [plain(x) for x in slow]


def test_the_spec_is_known_when_the_graph_is_built():
    ds = ps.Dataset.range(6).flat_map(RANGES["chain"])
    assert ds.element_spec == ps.TensorSpec((None,), ps.int64)
    ds = ds.map(lambda x: x.sum(), executor="native")
    assert [int(x) for x in ds] == [0, 2, 2, 4, 2, 10, 2, 10, 8]


def test_files_are_opened_natively(tmp_path):
    names = ps.Dataset.from_list(records(tmp_path))
    features = {"v": ps.io.FixedLenFeature([], ps.int64)}

    def read(name):
        ds = ps.Dataset.tfrecord(name)
        return ds.map(lambda r: ps.io.parse_single_example(r, features)["v"])

    ds = names.interleave(read, cycle_length=2)
    assert runs_as_template(ds)
    got = [int(x) for x in ds]
    assert got[:4] == [0, 10, 1, 11] and sorted(got[4:]) == [12, 20, 21, 22, 23]
    assert got == [int(x) for x in names.interleave(by_python(read), cycle_length=2)]
    short = names.interleave(lambda f: ps.Dataset.tfrecord(f), cycle_length=1)
    assert runs_as_template(short) and len(short.to_list()) == 9


def test_lines_and_fixed_records(tmp_path):
    names = ps.Dataset.from_list(texts(tmp_path))
    ds = names.flat_map(lambda f: ps.Dataset.text_lines(f, skip_lines=1))
    assert runs_as_template(ds)
    assert ds.to_list() == [b"0-1", b"1-1", b"1-2", b"2-1", b"2-2", b"2-3"]
    ds = names.flat_map(lambda f: ps.Dataset.fixed_length_records(f, 4).take(1))
    assert runs_as_template(ds)
    assert ds.to_list() == [b"0-0\n", b"1-0\n", b"2-0\n"]


def test_errors_are_those_of_their_elements(tmp_path):
    names = [*texts(tmp_path, 1), str(tmp_path / "missing"), *texts(tmp_path, 1)]
    ds = ps.Dataset.from_list(names).flat_map(lambda f: ps.Dataset.text_lines(f))
    assert runs_as_template(ds)
    it = iter(ds)
    assert [next(it), next(it)] == [b"0-0", b"0-1"]
    with pytest.raises(ps.NotFoundError, match="missing"):
        next(it)
    assert list(it) == [b"0-0", b"0-1"]
    steps = ps.Dataset.range(3).flat_map(lambda n: ps.Dataset.range(0, 4, n - 1))
    it = iter(steps)
    with pytest.raises(ps.InvalidArgumentError, match="step"):
        for _ in it:
            pass


def test_states_resume_inside_a_nested_dataset():
    ds = ps.Dataset.range(5).interleave(RANGES["chain"], cycle_length=2)
    whole = [plain(x) for x in ds]
    for stop in range(len(whole)):
        it = ds.iterator()
        for _ in range(stop):
            next(it)
        rest = ds.iterator(state=it.state_dict())
        assert [plain(x) for x in rest] == whole[stop:]


@pytest.mark.parametrize(
    ("fn", "reason"),
    [
        (lambda n: ps.Dataset.range(3).take(n), "take has an argument that depends"),
        (lambda n: ps.Dataset.range(3).map(lambda i: i + n), "captures n"),
        (lambda n: ps.Dataset.from_list([1, 2]), "from_list, which no template has"),
        (lambda n: ps.Dataset.text_lines("x.txt"), "whose name is not the element's"),
        (lambda n: ps.Dataset.range(n / 2), "whole numbers"),
        (lambda n: ps.Dataset.range(3).cache(), "cache of a dataset"),
        (lambda n: n, "not a dataset"),
    ],
)
def test_what_no_template_has_is_called_by_python(fn, reason):
    ds = ps.Dataset.range(3).flat_map(fn)
    assert not runs_as_template(ds)
    assert reason in ds.explain()


def test_functions_that_capture_the_element_still_work():
    ds = ps.Dataset.range(3).flat_map(
        lambda n: ps.Dataset.range(2).map(lambda i: i + 10 * n)
    )
    assert [int(x) for x in ds] == [0, 1, 10, 11, 20, 21]


def times(n, by_default):
    if by_default:
        return lambda i, n=n: i * 10 + n
    return lambda i: i * 10 + n


HELD = {
    "default": lambda n: ps.Dataset.range(2).map(lambda i, n=n: i * 10 + n),
    "by name": lambda n: ps.Dataset.range(2).map(lambda i, *, n=n: i * 10 + n),
    "only it": lambda n: ps.Dataset.range(2).map(lambda i, n=n: n),
    "list": lambda n: ps.Dataset.range(2).map(lambda i, held=[n]: (i, held[0])),
    "dict": lambda n: ps.Dataset.range(2).map(lambda i, held={"n": n}: i + held["n"]),
    "filter": lambda n: ps.Dataset.range(4).filter(lambda i, n=n: i < n),
    "made": lambda n: ps.Dataset.range(2).map(times(n, True)),
    "helper": lambda n: ps.Dataset.range(2).map(
        lambda i, helper=times(n, False): helper(i)  # noqa: B008
    ),
    "helper's default": lambda n: ps.Dataset.range(2).map(
        lambda i, helper=times(n, True): helper(i)  # noqa: B008
    ),
    "partial": lambda n: ps.Dataset.range(2).map(
        functools.partial(lambda k, i: i * 10 + k, n)
    ),
    "shape": lambda n: ps.Dataset.range(2).map(lambda i, n=n: i + n.ndim),
}


@pytest.mark.parametrize("name", HELD)
def test_functions_that_hold_the_element_get_its_value(name):
    for method in ("flat_map", "interleave"):
        for source in (ps.Dataset.range(5), ps.Dataset.range(5).map(unknown)):
            ds = getattr(source, method)(HELD[name])
            slow = getattr(source, method)(by_python(HELD[name]))
            assert [plain(x) for x in ds] == [plain(x) for x in slow]


def test_functions_that_hold_a_file_name_get_it(tmp_path):
    def lines(name):
        return ps.Dataset.text_lines(name).map(lambda line, name=name: (name, line))

    names = texts(tmp_path)
    ds = ps.Dataset.from_list(names).flat_map(lines)
    slow = ps.Dataset.from_list(names).flat_map(by_python(lines))
    assert ds.to_list() == slow.to_list()
    assert [name for name, _ in ds.to_list()[:2]] == [names[0].encode()] * 2


def test_maps_do_not_make_templates():
    ds = ps.Dataset.range(3)
    with pytest.raises(ps.InvalidArgumentError, match="TemplateDataset|no native"):
        ds.map(lambda n: ps.Dataset.range(n), executor="native")


def test_a_captured_dataset_is_part_of_the_template():
    other = ps.Dataset.range(2)
    ds = ps.Dataset.range(2).flat_map(lambda n: other.repeat(2))
    assert runs_as_template(ds)
    assert [int(x) for x in ds] == [0, 1] * 4


def unknown(x):
    """What tracing cannot follow: the spec behind it is not known."""
    print(end="")
    return x


def test_behind_an_unknown_spec_the_first_data_makes_the_template():
    ds = ps.Dataset.range(5).map(unknown).flat_map(lambda n: ps.Dataset.range(n))
    assert "native (a template, when the first data is there)" in ds.explain()
    assert [int(x) for x in ds] == [k for n in range(5) for k in range(n)]


def test_elements_of_several_kinds_have_a_template_each():
    mixed = ps.Dataset.from_generator(lambda: iter([np.int32(2), np.int64(3)]))
    ds = mixed.flat_map(lambda n: ps.Dataset.range(n))
    assert [int(x) for x in ds] == [0, 1, 0, 1, 2]


def test_a_late_refusal_calls_the_function():
    ds = ps.Dataset.range(4).map(lambda x: unknown(float(x)))
    ds = ds.flat_map(lambda x: ps.Dataset.from_tensors(x).repeat(int(x)))
    assert [float(x) for x in ds] == [1.0, 2.0, 2.0, 3.0, 3.0, 3.0]


def test_errors_in_front_of_a_late_template_stay_in_place():
    def fail(x):
        if x == 1:
            raise ValueError("one")
        return unknown(x)

    ds = ps.Dataset.range(3).map(fail).flat_map(lambda n: ps.Dataset.range(n))
    it = iter(ds)
    with pytest.raises(ValueError, match="one"):
        next(it)
    assert [int(x) for x in it] == [0, 1]


def test_csv_jsonl_and_tar_of_the_elements_file(tmp_path):
    import io
    import tarfile

    names = []
    for i in range(2):
        names.append(str(tmp_path / str(i)))
        (tmp_path / f"{i}.csv").write_text(f"a,b\n{i},x\n{i + 5},y\n")
        (tmp_path / f"{i}.jsonl").write_text(f'{{"n": {i}}}\n')
        with tarfile.open(tmp_path / f"{i}.tar", "w") as archive:
            info = tarfile.TarInfo(f"s{i}.txt")
            info.size = 2
            archive.addfile(info, io.BytesIO(b"hi"))
    columns = {"a": ps.int64, "b": ps.string}
    made = {
        "csv": lambda f: ps.Dataset.csv(ps.strings.join([f, ".csv"]), columns),
        "jsonl": lambda f: ps.Dataset.jsonl(
            ps.strings.join([f, ".jsonl"]), {"n": ps.int64}
        ),
        "tar": lambda f: ps.Dataset.tar(ps.strings.join([f, ".tar"]), ["txt"]),
    }
    for name, fn in made.items():
        source = ps.Dataset.from_tensor_slices(names)
        ds = source.interleave(fn, cycle_length=2)
        assert runs_as_template(ds), (name, ds.explain())
        slow = source.interleave(by_python(fn), cycle_length=2)
        assert ds.to_list() == slow.to_list() != [], name
    late = ps.Dataset.from_tensor_slices(names).map(unknown).flat_map(made["csv"])
    assert [x["a"] for x in late] == [0, 5, 1, 6]


def test_csv_without_columns_is_no_template():
    ds = ps.Dataset.from_tensor_slices(["a"]).flat_map(lambda f: ps.Dataset.csv(f))
    assert "csv without columns" in ds.explain()


def test_calls_in_a_row_keep_each_elements_error_and_random_values():
    def one(x):
        if x % 7 == 3:
            raise KeyError(int(x))
        if x % 7 == 5:
            return int(x)
        draw = ps.random.generator().integers(1 << 30)
        return ps.Dataset.from_tensors((x, draw))

    numbers = ps.Dataset.range(500).with_options(ps.Options(seed=3))
    assert "thread" in numbers.flat_map(one).explain()
    kept = numbers.flat_map(one).ignore_errors().to_list()
    assert [int(x) for x, _ in kept] == [x for x in range(500) if x % 7 not in (3, 5)]
    assert len({int(draw) for _, draw in kept}) == len(kept)
    alone = numbers.flat_map(one).ignore_errors().prefetch(0)
    assert alone.to_list() == kept
    with pytest.raises(KeyError) as raised:
        numbers.skip(3).flat_map(one).to_list()
    assert "element 3" in "".join(raised.value.__notes__)
    with pytest.raises(
        ps.InvalidArgumentError, match="element 5.*must return a Dataset"
    ):
        numbers.skip(5).flat_map(one).to_list()


def test_elements_with_and_without_a_template_take_turns():
    def nested(x):
        return ps.Dataset.from_tensors(x[0])

    mixed = [[1, 2], 5, [3], b"text", [4, 4]] * 20
    ds = ps.Dataset.from_generator(lambda: iter(mixed)).flat_map(nested)
    got = list(ds.ignore_errors())
    assert [int(x) for x in got if not isinstance(x, bytes)] == [
        v for x in mixed for v in ([x[0]] if isinstance(x, (list, bytes)) else [])
    ]
