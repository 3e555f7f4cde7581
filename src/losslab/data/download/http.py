"""HTTP downloads with pooch: sha256 check, retries, resume."""

import logging
from pathlib import Path
from typing import Any, BinaryIO

import pooch
from requests import HTTPError, RequestException, Response, Timeout

from losslab.data.download.sources import Download

GONE = (401, 403, 404, 410)
"""Status codes that are not retried."""

pooch.get_logger().setLevel(logging.WARNING)  # it logs each download to stderr


class DownloadError(Exception):
    """A download that failed at every address; the message has the reason for each."""


class NotThereError(DownloadError):
    """A file that the server does not have or does not permit to download."""


class ResumingDownloader:
    """A pooch downloader that resumes a partial download (HTTP Range, If-Range).

    ``part`` has the bytes so far, a file beside it the ETag of their version.
    """

    def __init__(self, part: Path, *, timeout: float, progress: bool) -> None:
        self.part = part
        self.etag_file = part.with_name(f"{part.name}.etag")
        self.options = {"timeout": timeout, "progressbar": progress}

    def __call__(self, url: str, output_file: Any, cache: Any, check_only: bool = False) -> None:
        """Download ``url`` to ``output_file``."""
        with self.part.open("ab") as file:
            headers = self._headers(file.tell())
            hooks = {"response": lambda response, **_: self._begin(file, response)}
            download = pooch.HTTPDownloader(
                chunk_size=2**16, headers=headers, hooks=hooks, **self.options
            )
            download(url, file, cache)
        self.part.replace(output_file)
        self.etag_file.unlink(missing_ok=True)

    def _headers(self, start: int) -> dict[str, str]:
        headers = {"Accept-Encoding": "identity"}  # with compression, offsets would not be bytes
        if not start or not self.etag_file.exists():
            return headers
        return {**headers, "Range": f"bytes={start}-", "If-Range": self.etag_file.read_text()}

    def _begin(self, file: BinaryIO, response: Response) -> None:
        """Resume, or restart if the server sends the whole file."""
        if response.status_code in GONE:
            raise NotThereError(f"{response.url} answered {response.status_code} {response.reason}")
        sent = response.headers.get("Content-Range", "")
        if response.status_code == 206 and sent.startswith(f"bytes {file.tell()}-"):
            return
        if response.is_redirect:
            return
        file.truncate(0)
        etag = response.headers.get("ETag", "")
        if response.status_code == 200 and etag.startswith(
            '"'
        ):  # a weak ETag does not identify bytes
            self.etag_file.write_text(etag)
        else:
            self.etag_file.unlink(missing_ok=True)
        if response.status_code == 206:
            raise RequestException("the server sent another range than requested")


def download(
    file: Download, folder: Path, *, timeout: float, retries: int, progress: bool = False
) -> Path:
    """The file in ``folder``, downloaded from the first address that works unless present.

    Raises:
        DownloadError: every address failed.
        NotThereError: no address has the file.
    """
    failures: list[DownloadError] = []
    for address in file.addresses:
        try:
            return _retrieve(file, address, folder, timeout, retries, progress)
        except DownloadError as error:
            failures.append(error)
        except (RequestException, ValueError) as error:  # ValueError: pooch, on a wrong hash
            failures.append(DownloadError(_reason(address, error, timeout)))
    kind = NotThereError if all(isinstance(f, NotThereError) for f in failures) else DownloadError
    raise kind("; ".join(map(str, failures))) from failures[-1]


def _retrieve(
    file: Download, address: str, folder: Path, timeout: float, retries: int, progress: bool
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    cache = pooch.create(
        path=folder,
        base_url="",
        registry={file.name: file.sha256},
        urls={file.name: address},
        retry_if_failed=retries,
    )
    part = folder / f".{file.name}.part"
    downloader = ResumingDownloader(part, timeout=timeout, progress=progress)
    return Path(cache.fetch(file.name, downloader=downloader))


def _reason(address: str, error: Exception, timeout: float) -> str:
    if isinstance(error, Timeout) or "Read timed out" in str(error):  # during the transfer
        return f"{address} timed out after {timeout:g} s"
    if isinstance(error, HTTPError) and error.response is not None:
        return f"{address} answered {error.response.status_code} {error.response.reason}"
    if "NewConnectionError" in str(error) or "NameResolutionError" in str(error):
        return f"{address} cannot be reached"
    if isinstance(error, RequestException):
        return f"{address}: the connection broke"
    return f"{address}: {error}"
