"""Files of the net, read from Python; faults are tested in io/http_test.cc."""

from __future__ import annotations

import functools
import http.server
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import penstock as ps


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Python's own server: it knows no ranges."""

    def log_message(self, *args):
        pass


@pytest.fixture
def site(tmp_path):
    for i in range(3):
        with ps.io.TFRecordWriter(tmp_path / f"{i}.tfrecord") as writer:
            for k in range(4):
                writer.write(f"{i}.{k}")
    (tmp_path / "words.txt").write_text("one\ntwo\n")
    handler = functools.partial(Quiet, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
    ps.io.set_http_options()


def url(server, path, scheme="http"):
    return f"{scheme}://127.0.0.1:{server.server_address[1]}/{path}"


def test_names_of_the_net_are_names_of_files(site):
    files = [url(site, f"{i}.tfrecord") for i in range(3)]
    assert ps.Dataset.tfrecord(files).to_list() == [
        f"{i}.{k}".encode() for i in range(3) for k in range(4)
    ]
    assert ps.Dataset.text_lines(url(site, "words.txt")).to_list() == [b"one", b"two"]
    names = ps.Dataset.from_list([url(site, "words.txt")])
    native = names.map(ps.io.read_file, executor="native")
    assert native.to_list() == [b"one\ntwo\n"]


def run_python(source, package=None):
    """What a process of its own prints, with the package of the folder."""
    folder = package or pathlib.Path(ps.__file__).parents[1]
    env = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", source], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_libcurl_is_loaded_with_the_first_address(site, tmp_path):
    loaded = "'libcurl' in open('/proc/self/maps').read()"
    assert (
        run_python(f"""
import penstock as ps
print(ps.Dataset.text_lines({str(tmp_path / "words.txt")!r}).to_list(), {loaded})
print(ps.Dataset.text_lines({url(site, "words.txt")!r}).to_list(), {loaded})
""")
        == "[b'one', b'two'] False\n[b'one', b'two'] True"
    )


def test_without_libcurl_an_address_is_an_error_that_says_so(tmp_path):
    shutil.copytree(
        pathlib.Path(ps.__file__).parent,
        tmp_path / "penstock",
        ignore=shutil.ignore_patterns("libpenstock_curl*", "__pycache__"),
    )
    assert "libpenstock_curl" in run_python(
        """
import penstock as ps
assert ps.Dataset.range(3).to_list() == [0, 1, 2]
try:
    ps.Dataset.text_lines("http://127.0.0.1:1/x").to_list()
except ps.UnavailableError as e:
    assert "cannot read 'http://127.0.0.1:1/x': cannot load" in str(e), e
    print(e)
""",
        package=tmp_path,
    )


def test_arrays_of_the_net(site, tmp_path):
    x, y = np.arange(6.0).reshape(3, 2), np.arange(3)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "xy.npz", x=x, y=y)
    assert np.array_equal(ps.Dataset.npy(url(site, "x.npy")).to_list(), x)
    rows = ps.Dataset.npy(url(site, "xy.npz")).to_list()
    assert np.array_equal([r["x"] for r in rows], x)
    assert [r["y"] for r in rows] == [0, 1, 2]
    with pytest.raises(ps.NotFoundError, match=r"none.npy': the server answered 404"):
        ps.Dataset.npy(url(site, "none.npy"))


@pytest.mark.parametrize("pattern", ["*.tfrecord", "[0-2].tfrecord", "**/a?x=1"])
def test_patterns_of_the_net_are_refused(site, pattern):
    for read in (ps.Dataset.list_files, ps.Dataset.tfrecord, ps.Dataset.text_lines):
        with pytest.raises(ValueError, match=r"patterns are for files of this machine"):
            read(url(site, pattern))
    query = "http://[::1]:80/a?b=[*]"
    assert ps.Dataset.list_files(query).to_list() == [query.encode()]


def test_what_is_not_there_is_named(site):
    with pytest.raises(ps.NotFoundError, match=r"none.txt': the server answered 404"):
        ps.io.read_file(url(site, "none.txt"))


def test_passwords_and_signatures_stay_out_of_errors_and_graphs(site, tmp_path):
    (tmp_path / "cut.tfrecord").write_bytes(b"no record")
    (tmp_path / "rows.jsonl").write_text('{"x": 1}\n{"x": \n')
    for file, reader in (
        ("cut.tfrecord", ps.Dataset.tfrecord),
        ("rows.jsonl", lambda name: ps.Dataset.jsonl(name, {"x": np.int64})),
    ):
        name = url(site, file + "?signature=secret").replace("//", "//me:password@")
        ds = reader(name)
        with pytest.raises(ps.DataLossError, match=file) as caught:
            ds.to_list()
        for text in (str(caught.value), ds.explain(), repr(ds)):
            assert "secret" not in text and "password" not in text, text
    name = url(site, "none?signature=secret").replace("//", "//me:password@")
    for call in (
        ps.Dataset.npy,
        ps.Dataset.csv,
        ps.Dataset.image_folder,
        ps.io.TFRecordWriter,
        lambda name: ps.Dataset.list_files(name.replace("?", "/*?")),
        lambda name: ps.io.write_file(name, b""),
    ):
        with pytest.raises(ps.Error) as caught:
            call(name)
        for secret in ("secret", "password"):
            assert secret not in str(caught.value), caught.value
    explained = ps.Dataset.list_files(name).explain()
    assert "secret" not in explained and "password" not in explained


def test_a_size_that_no_memory_holds_is_an_error(site, monkeypatch):
    def do_GET(self):
        self.send_response(206)
        self.send_header("Content-Range", f"bytes 0-3/{2**62}")
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"four")

    monkeypatch.setattr(Quiet, "do_GET", do_GET)
    name = url(site, "x?signature=secret")
    for call in (ps.io.read_file, ps.Dataset.npy):
        with pytest.raises(ps.ResourceExhaustedError) as caught:
            call(name)
        assert "no memory for" in str(caught.value)
        assert "secret" not in str(caught.value)


def test_nothing_is_written_to_an_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "http://127.0.0.1/x"
    ds = ps.Dataset.from_list([b"a"])
    for call in (
        lambda: ps.io.write_file(name, b""),
        lambda: ps.io.TFRecordWriter(name),
        lambda: ps.io.write_tfrecord(ds, name),
    ):
        with pytest.raises(ps.InvalidArgumentError, match="(this machine|only read)"):
            call()
    assert not list(tmp_path.iterdir())


def test_a_transfer_that_stops_midway_goes_on_after_stall_timeout(site, monkeypatch):
    asked, over = [], threading.Event()

    def do_GET(self):
        asked.append(self.headers["Range"])
        start = int(asked[-1].removeprefix("bytes=").split("-")[0])
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-7/8")
        self.send_header("Content-Length", str(8 - start))
        self.end_headers()
        if start == 0:
            self.wfile.write(b"one\nt")
            over.wait(30)
        else:
            self.wfile.write(b"wo\n")

    monkeypatch.setattr(Quiet, "do_GET", do_GET)
    ps.io.set_http_options(stall_timeout=1, backoff=0.01)
    begin = time.monotonic()
    try:
        assert ps.io.read_file(url(site, "words.txt")) == b"one\ntwo\n"
        assert time.monotonic() - begin < 5
        ps.io.set_http_options(stall_timeout=1, retries=0)
        with pytest.raises(ps.UnavailableError, match="nothing came for 1 seconds"):
            monkeypatch.setattr(Quiet, "do_GET", lambda self: over.wait(30))
            ps.io.read_file(url(site, "words.txt"))
    finally:
        over.set()


@pytest.mark.skipif(not shutil.which("openssl"), reason="there is no openssl")
def test_certificates_are_checked(site, tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-keyout", key, "-out", certificate, "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    site.socket = context.wrap_socket(site.socket, server_side=True)
    name = url(site, "words.txt", "https")
    with pytest.raises(ps.Error, match="cannot read 'https://.*certificate"):
        ps.io.read_file(name)
    ps.io.set_http_options(ca_file=certificate)
    assert ps.io.read_file(name) == b"one\ntwo\n"


def test_wrong_options():
    with pytest.raises(ValueError, match="retries must be >= 0, got -1"):
        ps.io.set_http_options(retries=-1)
    with pytest.raises(TypeError, match="backoff must be a number, got str"):
        ps.io.set_http_options(backoff="long")
    with pytest.raises(ValueError, match="headers must be lines"):
        ps.io.set_http_options(headers={"a": "b\nc: d"})
