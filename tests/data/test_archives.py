"""Archives of others: whole, broken and hostile ones."""

import gzip
import io
import lzma
import stat
import tarfile
import zipfile

import pytest

from losslab.data.download.archives import ArchiveError, Limits, unpack

FILES = {"a.txt": b"one", "deep/b.txt": b"two" * 1000}


def tar_of(path, files, mode="w:xz", **odd):
    with tarfile.open(path, mode) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for name, kind in odd.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
    return path


def zip_of(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return path


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("name", "mode"),
    [("x.tar", "w"), ("x.tar.gz", "w:gz"), ("x.tgz", "w:gz"), ("x.tar.xz", "w:xz"), ("x.zip", "")],
)
def test_files_come_out_as_they_went_in(tmp_path, name, mode):
    path = tmp_path / name
    tar_of(path, FILES, mode) if mode else zip_of(path, FILES)
    assert content(unpack(path, tmp_path / "out")) == FILES


@pytest.mark.parametrize(
    ("name", "pack"), [("b.tsv.gz", gzip.compress), ("b.tsv.xz", lzma.compress)]
)
def test_a_compressed_file_is_one_file(tmp_path, name, pack):
    (tmp_path / name).write_bytes(pack(b"row"))
    assert content(unpack(tmp_path / name, tmp_path / "out")) == {"b.tsv": b"row"}


def test_the_only_folder_at_the_top_is_stripped_once(tmp_path):
    path = tar_of(tmp_path / "x.tar.xz", {"top/in/a": b"1", "__MACOSX/top/._a": b"2"})
    assert content(unpack(path, tmp_path / "out")) == {"in/a": b"1"}
    assert content(
        unpack(tar_of(tmp_path / "y.tar.xz", {"top/a": b"1", "b": b"2"}), tmp_path / "o")
    )


@pytest.mark.parametrize(
    "name", ["../out.txt", "a/../../out.txt", "/out.txt", "..\\out.txt", "C:\\out.txt", "\\out"]
)
@pytest.mark.parametrize("make", [tar_of, zip_of])
def test_a_member_outside_the_folder_is_refused(tmp_path, make, name):
    suffix = ".tar.xz" if make is tar_of else ".zip"
    path = make(tmp_path / f"x{suffix}", {"good.txt": b"1", name: b"2"})
    with pytest.raises(ArchiveError, match="would land outside the folder"):
        unpack(path, tmp_path / "deep" / "out")
    assert {found.name for found in tmp_path.rglob("*.txt")} <= {"good.txt"}


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path, kind):
    path = tar_of(tmp_path / "x.tar.xz", FILES, odd=kind)
    with pytest.raises(ArchiveError, match="'odd' is a link or a device"):
        unpack(path, tmp_path / "out")


def test_links_in_a_zip_are_refused(tmp_path):
    info = zipfile.ZipInfo("odd")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr(info, "/etc/passwd")
    with pytest.raises(ArchiveError, match="'odd' is a link or a device"):
        unpack(tmp_path / "x.zip", tmp_path / "out")


@pytest.mark.parametrize("make", [tar_of, zip_of])
def test_more_bytes_than_the_limit_are_refused(tmp_path, make):
    suffix = ".tar.xz" if make is tar_of else ".zip"
    path = make(tmp_path / f"x{suffix}", {"a": b"0" * 10_000, "bomb": b"0" * 10_000_000})
    assert path.stat().st_size < 20_000
    with pytest.raises(ArchiveError, match="'bomb' makes it larger than the limit"):
        unpack(path, tmp_path / "out", Limits(size=1_000_000))
    assert content(unpack(path, tmp_path / "again", Limits(size=10_010_000)))


@pytest.mark.parametrize(
    "name", ["x.tar.gz", "x.tar.xz", "x.tar.bz2", "x.tar", "x.zip", "x.txt.gz", "x.txt.xz"]
)
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[: len(data) // 2], "not a complete archive"),
        (lambda _: b"", "not a complete archive"),
        (lambda _: b"<!DOCTYPE html><p>Please log in", "the server sent a web page"),
    ],
    ids=["truncated", "empty", "page"],
)
def test_what_is_no_whole_archive_is_told(tmp_path, name, damage, message):
    path, noise = tmp_path / name, bytes(range(256)) * 40
    if name.startswith("x.tar"):
        tar_of(path, {"a": noise}, "w:" + name[6:])
    elif name == "x.zip":
        zip_of(path, {"a": noise})
    else:
        path.write_bytes({"gz": gzip, "xz": lzma}[name[-2:]].compress(noise))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ArchiveError, match=message):
        unpack(path, tmp_path / "out")


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_archive_of_more_members_than_allowed_is_refused(tmp_path, pack):
    path = pack(tmp_path / ("x.zip" if pack is zip_of else "x.tar.xz"), dict.fromkeys("abcd", b""))
    with pytest.raises(ArchiveError, match="it has more than 3 members"):
        unpack(path, tmp_path / "out", Limits(members=3))
    assert len(content(unpack(path, tmp_path / "again", Limits(members=4)))) == 4


def test_archive_that_grows_beyond_the_ratio_is_refused(tmp_path):
    zeros = {"a": bytes(2**20), "b": bytes(2**20)}
    path = tar_of(tmp_path / "x.tar.xz", zeros)
    assert 200 * path.stat().st_size < 2**21
    with pytest.raises(
        ArchiveError, match="'b' makes it larger than the limit of its size or ratio"
    ):
        unpack(path, tmp_path / "out", Limits(always_allowed=2**20))
    assert content(unpack(path, tmp_path / "again")) == zeros  # small enough for any ratio
