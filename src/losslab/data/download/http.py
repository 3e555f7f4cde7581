"""Files from the web, with pooch: checked, tried again, continued where a connection broke."""

import logging
from pathlib import Path
from typing import Any, BinaryIO

import pooch
from requests import HTTPError, RequestException, Response, Timeout

from losslab.data.download.sources import Download

GONE = (401, 403, 404, 410)
"""Answers that do not change when one asks again."""

pooch.get_logger().setLevel(logging.WARNING)  # it tells each download to standard error


class DownloadError(Exception):
    """No address gave the file; the message has a reason for each."""


class NotThereError(DownloadError):
    """The server says that it has no such file, or not for us."""


class ResumingDownloader(pooch.HTTPDownloader):
    """pooch's downloader, which keeps what came through and next time asks for the rest only.

    ``part`` holds the bytes, a file beside it the server's mark of the version they belong to.
    """

    def __init__(self, part: Path, **options: Any) -> None:
        super().__init__(chunk_size=2**16, **options)
        self.part = part
        self.mark = part.with_name(f"{part.name}.etag")

    def __call__(self, url: str, output_file: Any, pooch: Any, check_only: bool = False) -> None:
        """Download ``url`` to ``output_file``."""
        with self.part.open("ab") as file:
            self.kwargs["headers"] = self._headers(file.tell())
            self.kwargs["hooks"] = {"response": lambda response, **_: self._begin(file, response)}
            super().__call__(url, file, pooch)
        self.part.replace(output_file)
        self.mark.unlink(missing_ok=True)

    def _headers(self, start: int) -> dict[str, str]:
        plain = {"Accept-Encoding": "identity"}  # a server's own compression would hide the bytes
        if not start or not self.mark.exists():
            return plain
        return {**plain, "Range": f"bytes={start}-", "If-Range": self.mark.read_text()}

    def _begin(self, file: BinaryIO, response: Response) -> None:
        """Go on with the part, or begin anew where the server sends the file from its start."""
        if response.status_code in GONE:
            raise NotThereError(f"{response.url} answered {response.status_code} {response.reason}")
        sent = response.headers.get("Content-Range", "")
        if response.status_code == 206 and sent.startswith(f"bytes {file.tell()}-"):
            return
        if response.is_redirect:
            return
        file.truncate(0)
        etag = response.headers.get("ETag", "")
        if response.status_code == 200 and etag.startswith('"'):  # a weak one promises no bytes
            self.mark.write_text(etag)
        else:
            self.mark.unlink(missing_ok=True)
        if response.status_code == 206:
            raise RequestException("the server sent another part than was asked for")


def download(
    wanted: Download, folder: Path, *, timeout: float, retries: int, progress: bool = False
) -> Path:
    """The file in ``folder``: as it lies there, or from the first address that gives it.

    Raises:
        DownloadError: with what went wrong at each address.
        NotThereError: none of the addresses has it.
    """
    failures: list[DownloadError] = []
    for address in wanted.addresses:
        try:
            return _retrieve(wanted, address, folder, timeout, retries, progress)
        except DownloadError as error:
            failures.append(error)
        except (RequestException, ValueError) as error:  # ValueError: pooch, on a wrong hash
            failures.append(DownloadError(_reason(address, error, timeout)))
    kind = NotThereError if all(isinstance(f, NotThereError) for f in failures) else DownloadError
    raise kind("; ".join(map(str, failures))) from failures[-1]


def _retrieve(
    wanted: Download, address: str, folder: Path, timeout: float, retries: int, progress: bool
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    cache = pooch.create(
        path=folder,
        base_url="",
        registry={wanted.name: wanted.sha256},
        urls={wanted.name: address},
        retry_if_failed=retries,
    )
    part = folder / f".{wanted.name}.part"
    downloader = ResumingDownloader(part, timeout=timeout, progressbar=progress)
    return Path(cache.fetch(wanted.name, downloader=downloader))


def _reason(address: str, error: Exception, timeout: float) -> str:
    if isinstance(error, Timeout) or "Read timed out" in str(error):  # the latter midway
        return f"{address} gave no answer for {timeout:g} s"
    if isinstance(error, HTTPError):
        return f"{address} answered {error.response.status_code} {error.response.reason}"
    if "NewConnectionError" in str(error) or "NameResolutionError" in str(error):
        return f"{address} cannot be reached"
    if isinstance(error, RequestException):
        return f"{address}: the connection broke"
    return f"{address}: {error}"
