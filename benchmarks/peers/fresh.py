"""Figures that need a new process each: import, first batch, memory.

python fresh.py ENGINE P10|P12     prints a line of JSON

Nothing but the engine is imported. The first batch and the shuffled values are
checked before the figures are printed.
"""

import json
import os
import sys
import time

N = 10_000
WINDOW = 1_000_000


def increment(x):
    return x + 1


# --- P10: each gives an iterator whose first batch is 1 .. 100 --------------


def penstock():
    import penstock as ps

    yield
    yield iter(ps.Dataset.range(N).map(lambda x: x + 1).batch(100))


def tfdata():
    import tensorflow as tf

    yield
    ds = tf.data.Dataset.range(N).map(lambda x: x + 1, num_parallel_calls=-1)
    yield iter(ds.batch(100).prefetch(-1))


class _Range:
    def __len__(self):
        return N

    def __getitem__(self, i):
        return i + 1


def torch():
    from torch.utils.data import DataLoader

    yield
    yield iter(DataLoader(_Range(), batch_size=100, num_workers=2))


def grain():
    import grain as google_grain

    yield
    ds = google_grain.MapDataset.range(N).map(increment).batch(100)
    yield iter(ds.to_iter_dataset())


def spdl():
    from spdl.pipeline import PipelineBuilder

    yield
    builder = PipelineBuilder().add_source(range(N))
    builder = builder.pipe(increment, concurrency=2, output_order="input")
    pipeline = builder.aggregate(100).add_sink(3).build(num_threads=3)

    def items():
        with pipeline.auto_stop():
            yield from pipeline

    yield items()


def mlx():
    import mlx.data as dx

    yield
    items = dx.buffer_from_vector([{"x": i} for i in range(N)])
    items = items.key_transform("x", increment).batch(100).ordered_prefetch(2, 2)
    yield (sample["x"] for sample in items)


def ray():
    import ray.data as data

    yield
    ds = data.range(N).map(lambda row: {"id": row["id"] + 1})
    yield (batch["id"] for batch in ds.iter_batches(batch_size=100))


# --- P12: each gives (an iterator over a shuffled range, what an item holds) --


def penstock_shuffled():
    import penstock as ps

    return iter(ps.Dataset.range(2 * WINDOW).shuffle(WINDOW))


def tfdata_shuffled():
    import tensorflow as tf

    # Started before it is weighed: what TensorFlow holds by itself is not meant.
    next(iter(tf.data.Dataset.range(10).shuffle(5)))
    return iter(tf.data.Dataset.range(2 * WINDOW).shuffle(WINDOW))


def grain_shuffled():
    import grain as google_grain

    ds = google_grain.MapDataset.range(2 * WINDOW).to_iter_dataset()
    return iter(
        google_grain.experimental.WindowShuffleIterDataset(
            ds, window_size=WINDOW, seed=7
        )
    )


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def start(engine):
    began = time.perf_counter()
    steps = globals()[engine]()
    next(steps)
    imported = time.perf_counter()
    iterator = next(steps)
    batch = next(iterator)
    first = time.perf_counter()
    if [int(x) for x in batch] != list(range(1, 101)):
        raise SystemExit(f"the first batch is {list(batch)[:5]} ...")
    return {"P10i": imported - began, "P10": first - imported}


def weigh(engine):
    make = globals()[f"{engine}_shuffled"]
    iterator = make()
    before = resident()
    values = [int(next(iterator))]
    grown = resident() - before
    values += [int(next(iterator)) for _ in range(1000)]
    # A window of a million: nothing comes early, and some come from its end.
    if len(set(values)) != 1001 or not 0.8 * WINDOW < max(values) < WINDOW + 1001:
        raise SystemExit(f"not shuffled: {values[:10]}")
    return {"P12": grown / WINDOW}


if __name__ == "__main__":
    result = start(sys.argv[1]) if sys.argv[2] == "P10" else weigh(sys.argv[1])
    print(json.dumps(result), flush=True)
    if sys.argv[1] == "ray":
        sys.modules["ray"].shutdown()
    # Without the end of the interpreter, which some engines take seconds for.
    os._exit(0)
