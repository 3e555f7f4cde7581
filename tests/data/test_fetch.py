"""Fetching from a server on this machine that behaves well, badly, or not at all."""

import hashlib
import io
import json
import logging
import os
import signal
import subprocess
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import command, environment
from filelock import FileLock

from losslab import temporary
from losslab.data.download import fetch as fetching
from losslab.data.download.archives import Limits
from losslab.data.download.fetch import ByHandError, FetchOptions, fetch
from losslab.data.download.raw_folder import is_sample, overview
from losslab.data.download.sources import SOURCES, Download, Source
from losslab.data.readers import FILE_READERS, READERS
from losslab.errors import FetchError

QUICK = FetchOptions(timeout=0.5, retries=0)


def archive_of(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(f"top/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


NOISE = b"".join(hashlib.sha256(bytes([n % 256, n // 256])).digest() for n in range(9000))
ARCHIVE = archive_of(rows=NOISE, notes=b"2")
FILES = {"rows": NOISE, "notes": b"2"}


class Server(ThreadingHTTPServer):
    """Serves ``files``; ``faults`` are what to do wrong, one for each request, in turn."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.faults, self.asked = {}, [], []
        self.stalling, self.released = threading.Event(), threading.Event()

    def address(self, name=""):
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.asked.append((self.path[1:], self.headers.get("Range")))
        data = server.files.get(self.path[1:])
        if data is None:
            return self.send_error(404)
        fault = server.faults.pop(0) if server.faults else ""
        if fault.isdigit():
            return self.send_error(int(fault))
        start = self._start(data)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        if fault != "no mark":
            self.send_header("ETag", self._etag(data))
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        if fault in ("drop", "stall"):
            self.wfile.write(data[start : start + 200_000])
            self.wfile.flush()
        if fault == "stall":
            server.stalling.set()
            server.released.wait(20)
        if fault not in ("drop", "stall"):
            self.wfile.write(data[start:])
        return None

    def _etag(self, data):
        return f'"{hashlib.sha256(data).hexdigest()}"'

    def _start(self, data):
        asked = self.headers.get("Range")
        fresh = self.headers.get("If-Range") == self._etag(data)
        return int(asked.removeprefix("bytes=").rstrip("-")) if asked and fresh else 0

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def publish(server, monkeypatch):
    """Let a dataset 'made_up' be published by the server."""

    def publish(*, sha256=None, more=(), **files):
        server.files |= {name.replace("_", "."): data for name, data in files.items()}
        downloads = tuple(
            Download(
                name.replace("_", "."), (*more, server.address(name.replace("_", "."))), sha256
            )
            for name in files
        )
        monkeypatch.setitem(SOURCES, "made_up", Source("made up", "none", downloads))

    return publish


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def only_there(raw: Path) -> list[str]:
    return sorted(path.name for path in raw.iterdir())


DONE = ["made_up", "made_up.origin.json"]


def test_archives_are_unpacked_files_kept_and_nothing_else_left(tmp_path, publish, caplog):
    caplog.set_level(logging.INFO)
    publish(x_tar_xz=ARCHIVE, labels_tsv=b"a\tb")
    assert fetch("made_up", tmp_path, QUICK) == tmp_path / "made_up"
    assert content(tmp_path / "made_up") == {**FILES, "labels.tsv": b"a\tb"}
    assert only_there(tmp_path) == DONE
    digest = hashlib.sha256(ARCHIVE).hexdigest()
    assert f"x.tar.xz was not checked, no sha256 of it is known; it has {digest}" in caplog.text
    origin = json.loads((tmp_path / "made_up.origin.json").read_text())
    assert origin["sha256"]["x.tar.xz"] == digest
    assert not origin["sample"]
    assert origin["checked"] == []


def test_of_an_archive_with_several_folders_the_wanted_one_is_kept(tmp_path, server, monkeypatch):
    server.files["x.tar.xz"] = archive_of(**{"big/rows": b"1", "small/rows": b"2"})
    for folder in ("big", "none"):
        wanted = Download("x.tar.xz", (server.address("x.tar.xz"),), folder=folder)
        monkeypatch.setitem(SOURCES, folder, Source("made up", "none", (wanted,)))
    assert content(fetch("big", tmp_path, QUICK)) == {"rows": b"1"}
    with pytest.raises(FetchError, match="the archive has no folder none, found big, small"):
        fetch("none", tmp_path, QUICK)


def test_what_is_there_stays_unless_forced(tmp_path, publish, server):
    (tmp_path / "made_up").mkdir()
    (tmp_path / "made_up" / "mine").write_text("1")
    publish(x_tar_xz=ARCHIVE)
    fetch("made_up", tmp_path, QUICK)
    assert content(tmp_path / "made_up") == {"mine": b"1"}
    assert not server.asked
    fetch("made_up", tmp_path, QUICK, force=True)
    assert content(tmp_path / "made_up") == FILES
    assert only_there(tmp_path) == DONE


def test_a_forced_fetch_that_fails_leaves_the_old_files(tmp_path, publish, server):
    publish(x_tar_xz=ARCHIVE)
    fetch("made_up", tmp_path, QUICK)
    server.files["x.tar.xz"] = ARCHIVE[:5000]
    with pytest.raises(FetchError):
        fetch("made_up", tmp_path, QUICK, force=True)
    assert content(tmp_path / "made_up") == FILES
    assert only_there(tmp_path) == DONE


def test_old_files_come_back_after_a_forced_fetch_was_killed_amid_renaming(
    tmp_path, publish, server
):
    publish(x_tar_xz=ARCHIVE)
    (tmp_path / ".made_up.part" / "replaced").mkdir(parents=True)
    (tmp_path / ".made_up.part" / "replaced" / "old").write_text("1")
    server.files.clear()
    with pytest.raises(FetchError, match="404"):
        fetch("made_up", tmp_path, QUICK)
    assert content(tmp_path / "made_up") == {"old": b"1"}


@pytest.mark.parametrize("fault", ["drop", "stall"])
def test_a_broken_connection_is_told_and_the_next_call_goes_on(tmp_path, publish, server, fault):
    publish(x_tar_xz=ARCHIVE, sha256=hashlib.sha256(ARCHIVE).hexdigest())
    server.faults = [fault]
    reason = {"drop": "the connection broke", "stall": "timed out after 0.5 s"}[fault]
    with pytest.raises(
        FetchError, match=rf"made_up: http://.*x.tar.xz.*{reason}.*repeat the command to resume"
    ):
        fetch("made_up", tmp_path, QUICK)
    assert only_there(tmp_path) == [".made_up.part"]
    fetch("made_up", tmp_path, QUICK)
    assert content(tmp_path / "made_up") == FILES
    start = int(server.asked[-1][1].removeprefix("bytes=").rstrip("-"))
    assert 0 < start <= 200_000
    assert only_there(tmp_path) == DONE


def test_a_broken_connection_is_tried_again_by_itself(tmp_path, publish, server):
    publish(x_tar_xz=ARCHIVE)
    server.faults = ["drop"]
    fetch("made_up", tmp_path, FetchOptions(timeout=0.5, retries=1))
    assert content(tmp_path / "made_up") == FILES
    assert len(server.asked) == 2


def test_a_file_that_changed_meanwhile_is_taken_from_its_start(tmp_path, publish, server):
    publish(x_tar_xz=ARCHIVE)
    server.faults = ["drop"]
    with pytest.raises(FetchError):
        fetch("made_up", tmp_path, QUICK)
    server.files["x.tar.xz"] = archive_of(new=NOISE[::-1])
    fetch("made_up", tmp_path, QUICK)
    assert content(tmp_path / "made_up") == {"new": NOISE[::-1]}


def test_bytes_without_a_mark_of_their_version_are_not_continued(tmp_path, publish, server):
    publish(x_tar_xz=ARCHIVE)
    server.faults = ["no mark"]
    part = tmp_path / ".made_up.part" / "downloads" / ".x.tar.xz.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"of some other file")
    fetch("made_up", tmp_path, QUICK)
    assert server.asked == [("x.tar.xz", None)]
    assert content(tmp_path / "made_up") == FILES


def test_a_part_that_is_whole_already_is_no_dead_end(tmp_path, publish, server):
    publish(x_tar_xz=ARCHIVE)
    folder = tmp_path / ".made_up.part" / "downloads"
    folder.mkdir(parents=True)
    (folder / ".x.tar.xz.part").write_bytes(ARCHIVE)
    (folder / ".x.tar.xz.part.etag").write_text(f'"{hashlib.sha256(ARCHIVE).hexdigest()}"')
    server.faults = ["416"]
    fetch("made_up", tmp_path, FetchOptions(timeout=0.5, retries=1))
    assert content(tmp_path / "made_up") == FILES


def test_a_wrong_file_is_refused_by_its_hash(tmp_path, publish):
    publish(x_tar_xz=ARCHIVE, sha256="0" * 64)
    with pytest.raises(FetchError, match=f"expected {'0' * 64} but got"):
        fetch("made_up", tmp_path, QUICK)
    assert only_there(tmp_path) == []


def test_a_page_instead_of_an_archive_is_told_and_not_kept(tmp_path, publish, server):
    publish(x_tar_xz=b"<!DOCTYPE html><title>Log in</title>")
    with pytest.raises(
        FetchError, match=r"made_up: x.tar.xz is not a complete archive: .* web page"
    ):
        fetch("made_up", tmp_path, QUICK)
    assert only_there(tmp_path) == []
    server.files["x.tar.xz"] = ARCHIVE
    fetch("made_up", tmp_path, QUICK)
    assert content(tmp_path / "made_up") == FILES


def test_an_archive_beyond_the_limit_puts_nothing_in_place(tmp_path, publish):
    publish(x_tar_xz=ARCHIVE)
    with pytest.raises(
        FetchError, match=r"'top/rows' makes it larger than the limit .*; no files were"
    ):
        fetch("made_up", tmp_path, FetchOptions(timeout=0.5, retries=0, limits=Limits(size=1000)))
    assert only_there(tmp_path) == []


def test_the_next_address_is_asked_where_one_fails(tmp_path, publish, server):
    publish(x_tar_xz=ARCHIVE, more=(server.address("gone"), "http://127.0.0.1:9/closed"))
    fetch("made_up", tmp_path, QUICK)
    assert content(tmp_path / "made_up") == FILES


def test_every_address_that_failed_is_named(tmp_path, publish, server):
    publish(x_tar_xz=ARCHIVE, more=(server.address("gone"), "http://127.0.0.1:9/closed"))
    server.faults = ["503"]
    with pytest.raises(FetchError) as told:
        fetch("made_up", tmp_path, QUICK)
    message = str(told.value)
    assert "gone answered 404 Not Found" in message
    assert "http://127.0.0.1:9/closed cannot be reached" in message
    assert "x.tar.xz answered 503 Service Unavailable" in message
    assert "\n" not in message


def test_a_missing_file_is_not_asked_for_again(tmp_path, publish, server):
    publish(x_tar_xz=ARCHIVE)
    server.files.clear()
    with pytest.raises(FetchError, match="404"):
        fetch("made_up", tmp_path, FetchOptions(timeout=0.5, retries=3))
    assert len(server.asked) == 1


def test_an_interruption_leaves_no_half_unpacked_files_and_no_second_download(
    tmp_path, publish, server, monkeypatch
):
    publish(x_tar_xz=ARCHIVE)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fetching, "merge", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fetch("made_up", tmp_path, QUICK)
    assert only_there(tmp_path) == [".made_up.part"]
    assert set(content(tmp_path)) == {".lock", "x.tar.xz"}
    fetch("made_up", tmp_path, QUICK)
    assert content(tmp_path / "made_up") == FILES
    assert len(server.asked) == 1


def test_after_ctrl_c_the_same_command_goes_on(project, kedro, server):
    server.files["reuters.tar.xz"] = ARCHIVE
    server.faults = ["stall"]
    mirror = {"LOSSLAB_MIRROR": server.address()}
    running = subprocess.Popen(
        command("fetch", "reuters"), cwd=project, env=environment(**mirror), stderr=subprocess.PIPE
    )
    assert server.stalling.wait(60)
    raw = project / "data/01_raw"
    while not any(
        part.stat().st_size for part in raw.glob(".reuters.part/**/.reuters.tar.xz.part")
    ):
        assert not server.released.wait(0.02)  # until the first bytes have been written
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 1
    assert b"Aborted!" in told
    assert [path.name for path in raw.iterdir() if path.name != "cwe"] == [".reuters.part"]
    assert kedro("fetch", "reuters", **mirror).returncode == 0
    assert content(raw / "reuters") == FILES
    assert server.asked[-1][1] is not None


def test_two_commands_do_not_fetch_the_same(tmp_path, publish):
    publish(x_tar_xz=ARCHIVE)
    (tmp_path / ".made_up.part").mkdir()
    lock = FileLock(tmp_path / ".made_up.part" / ".lock")
    with lock, pytest.raises(FetchError, match="another command is fetching made_up"):
        fetch("made_up", tmp_path, QUICK)
    fetch("made_up", tmp_path, QUICK)


def test_a_folder_that_cannot_be_written_is_told(tmp_path, publish):
    publish(x_tar_xz=ARCHIVE)
    (tmp_path / "file").write_text("")
    with pytest.raises(FetchError, match=r"made_up: .*Not a directory"):
        fetch("made_up", tmp_path / "file", QUICK)


@pytest.fixture(params=["folder", "address"])
def mirror(request, tmp_path, server):
    """A mirror and a way to put archives into it."""
    folder = tmp_path / "mirror"
    folder.mkdir()

    def put(name, data):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        server.files[f"mirror/{name}"] = data

    address = folder.as_posix() if request.param == "folder" else server.address("mirror/")
    return FetchOptions(mirror=address, timeout=0.5, retries=0), put


def test_the_mirror_goes_before_the_publisher(tmp_path, publish, mirror):
    ways, put = mirror
    publish(x_tar_xz=archive_of(other=b"1"))
    put("made_up.tar.xz", ARCHIVE)
    put("samples/made_up.tar.xz", archive_of(few=b"1"))
    folder = fetch("made_up", tmp_path / "raw", ways)
    assert content(folder) == FILES
    assert not is_sample(folder)


def test_a_sample_is_taken_with_a_warning_where_the_mirror_has_no_more(tmp_path, mirror, caplog):
    ways, put = mirror
    put("samples/yelp.tar.xz", ARCHIVE)
    folder = fetch("yelp", tmp_path / "raw", ways)
    assert content(folder) == FILES
    assert is_sample(folder)
    warnings = [r.message for r in caplog.records if r.levelname == "WARNING"]
    assert ["is a SAMPLE" in message for message in warnings] == [True]
    assert {row["dataset"]: row["there"] for row in overview(tmp_path / "raw")}["yelp"] == "sample"


def test_what_the_mirror_lacks_comes_from_the_publisher(tmp_path, publish, mirror):
    publish(x_tar_xz=ARCHIVE)
    assert content(fetch("made_up", tmp_path / "raw", mirror[0])) == FILES


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def known_files(monkeypatch, **known: bytes) -> None:
    """Let the publisher of a dataset 'made_up' have files of known sha256."""
    downloads = tuple(Download(name, ("http://x",), digest_of(d)) for name, d in known.items())
    monkeypatch.setitem(SOURCES, "made_up", Source("made up", "none", downloads))


def test_files_a_mirror_repacked_are_checked_by_the_publishers_sha256(
    tmp_path, mirror, monkeypatch, caplog
):
    caplog.set_level(logging.INFO)
    ways, put = mirror
    known_files(monkeypatch, rows=NOISE)
    put("made_up.tar.xz", ARCHIVE)
    folder = fetch("made_up", tmp_path / "raw", ways)
    assert content(folder) == FILES
    assert json.loads((tmp_path / "raw/made_up.origin.json").read_text())["checked"] == ["rows"]
    assert "sha256 as published: rows; no sha256 is known of 1 other files" in caplog.text


@pytest.mark.parametrize(
    ("packed", "fault"),
    [
        ({"rows": NOISE[::-1]}, "made_up: rows of the mirror has the sha256"),
        ({"notes": b"2"}, "made_up: the mirror's archive has no rows"),
    ],
)
def test_a_mirror_with_other_files_than_the_publishers_is_refused(
    tmp_path, mirror, monkeypatch, packed, fault
):
    ways, put = mirror
    known_files(monkeypatch, rows=NOISE)
    put("made_up.tar.xz", archive_of(**packed))
    with pytest.raises(FetchError, match=fault):
        fetch("made_up", tmp_path / "raw", ways)
    assert not (tmp_path / "raw/made_up").exists()


def test_a_repacked_archive_whose_sha256_is_known_otherwise_is_told_as_unchecked(
    tmp_path, mirror, monkeypatch, caplog
):
    ways, put = mirror
    known_files(monkeypatch, **{"original.tar.gz": b"other bytes"})
    put("made_up.tar.xz", ARCHIVE)
    assert content(fetch("made_up", tmp_path / "raw", ways)) == FILES
    assert "made_up.tar.xz of the mirror was not checked: the known sha256 is that of original" in (
        caplog.text
    )


@pytest.mark.parametrize("name", ["yelp.tar.xz", "samples/yelp.tar.xz"])
def test_the_mirrors_own_list_of_sha256_is_obeyed(tmp_path, mirror, name):
    ways, put = mirror
    put(name, ARCHIVE)
    put("SHA256SUMS", f"{'0' * 64}  other.tar.xz\n{'0' * 64} *./{name}\n".encode())
    with pytest.raises(FetchError, match=f"yelp.tar.xz.*{'0' * 64}"):
        fetch("yelp", tmp_path / "raw", ways)
    put("SHA256SUMS", f"{digest_of(ARCHIVE)}  {name}\n".encode())
    assert content(fetch("yelp", tmp_path / "raw", ways)) == FILES
    origin = json.loads((tmp_path / "raw/yelp.origin.json").read_text())
    assert origin["checked"] == ["yelp.tar.xz"]


def test_files_are_on_disk_before_they_are_in_place(tmp_path, publish, monkeypatch):
    publish(x_tar_xz=ARCHIVE)
    synced = []

    def sync(path: Path) -> None:
        synced.append((path.name, [name for name in DONE if (tmp_path / name).exists()]))

    monkeypatch.setattr(temporary, "sync", sync)
    monkeypatch.setattr(fetching, "sync", sync)
    fetch("made_up", tmp_path, QUICK)
    assert ("rows", []) in synced
    assert synced[-3:] == [
        (f".made_up.origin.json.{os.getpid()}.part", []),
        (tmp_path.name, ["made_up.origin.json"]),
        (tmp_path.name, DONE),
    ]


def test_a_mirror_that_fails_is_not_passed_over_in_silence(tmp_path, publish, server):
    publish(x_tar_xz=ARCHIVE)
    with pytest.raises(FetchError, match=r"http://127.0.0.1:9/SHA256SUMS cannot be reached"):
        fetch(
            "made_up", tmp_path, FetchOptions(mirror="http://127.0.0.1:9", timeout=0.5, retries=0)
        )
    with pytest.raises(FetchError, match=r"LOSSLAB_MIRROR is .*nowhere, which is not a folder"):
        fetch("made_up", tmp_path, FetchOptions(mirror=str(tmp_path / "nowhere")))


def test_licensed_data_come_with_steps_and_leave_nothing(tmp_path):
    with pytest.raises(ByHandError) as told:
        fetch("toxic", tmp_path, QUICK)
    assert "1. log in, accept the rules" in str(told.value)
    assert f"put train.csv into {tmp_path / 'toxic'}" in str(told.value)
    assert only_there(tmp_path) == []


def test_what_needs_no_fetching_is_told_so(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    assert fetch("cwe", tmp_path, QUICK) is None
    assert "comes with the package cwe2" in caplog.text


USER_FILES = set(FILE_READERS)


def test_every_reader_has_a_source_and_every_source_a_reader():
    missing = READERS.keys() - USER_FILES - SOURCES.keys()
    assert not missing, f"add {missing} to SOURCES in data/download/sources.py"
    unread = SOURCES.keys() - READERS.keys()
    assert not unread, f"add readers of {unread} to READERS in data/readers/__init__.py"


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_has_downloads_or_steps_or_is_ready(name):
    source = SOURCES[name]
    ways = [source.downloads, source.steps, source.ready]
    assert sum(map(bool, ways)) == 1, "give one of downloads, steps and ready"
    assert source.about, "give what the dataset is"
    assert source.licence, "give the licence, or 'none stated'"
    for step in source.steps:
        step.format(folder="f")
    assert not source.steps or "{folder}" in source.steps[-1], "end with: put ... into {folder}"


@pytest.mark.parametrize("name", SOURCES)
def test_every_download_has_addresses_and_a_whole_sha256_or_none(name):
    for wanted in SOURCES[name].downloads:
        insecure = [
            address
            for address in wanted.addresses
            if not address.startswith(("https://", "http://www.daviddlewis"))
        ]
        assert wanted.addresses, "give at least one address"
        assert not insecure, "give https addresses"
        assert wanted.sha256 is None or len(bytes.fromhex(wanted.sha256)) == 32


REAL = {"reuters": "reut2-000.sgm", "goemotions": "train.tsv", "aapd": "blalalt_test.json"}


@pytest.mark.real_data
@pytest.mark.parametrize("dataset", REAL)
def test_the_corpora_at_hand_are_unpacked(tmp_path, dataset):
    folder = fetch(dataset, tmp_path, FetchOptions(mirror=os.environ["LOSSLAB_MIRROR"]))
    assert (folder / REAL[dataset]).is_file()
    assert is_sample(folder) == (dataset == "aapd")


@pytest.mark.real_data
@pytest.mark.parametrize("dataset", ["trec", "goemotions"])
def test_the_hashes_we_know_are_those_of_the_files_at_hand(tmp_path, dataset):
    folder = fetch(dataset, tmp_path, FetchOptions(mirror=os.environ["LOSSLAB_MIRROR"]))
    for wanted in filter(lambda each: each.sha256, SOURCES[dataset].downloads):
        assert hashlib.sha256((folder / wanted.name).read_bytes()).hexdigest() == wanted.sha256
