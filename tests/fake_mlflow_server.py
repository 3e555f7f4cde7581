"""An MLflow server on 127.0.0.1 that keeps runs in memory and can be made to fail."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

API = "/api/2.0/mlflow/"
ARTIFACTS = "/api/2.0/mlflow-artifacts/artifacts/"


@dataclass
class FakeServer:
    """What the server was asked, and when it begins to fail.

    Args:
        failure: ``"500"``; ``"400"``, which MLflow means for good; ``"closed"``: it hangs up
            without an answer; ``"lost"``: it does what it was asked, then hangs up; ``"hangs"``: it
            does not answer until the test ends.
        fails_at: from the first request on whose method has this name; "" is any.
        spared: how many such requests it answers first.
        recovers: whether other methods work after that.
    """

    failure: str = "500"
    fails_at: str | None = None
    spared: int = 0
    recovers: bool = False
    url: str = ""
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    artifacts: dict[str, str] = field(default_factory=dict)
    stopped: threading.Event = field(default_factory=threading.Event)

    def heal(self) -> None:
        """Answer from now on."""
        self.fails_at, self.failed = None, []

    def named(self, name: str) -> dict[str, Any]:
        """The run of that name; there must be one."""
        (run,) = [run for run in self.runs.values() if run["info"]["run_name"] == name]
        return run

    def statuses(self) -> dict[str, str]:
        return {run["info"]["run_name"]: run["info"]["status"] for run in self.runs.values()}

    def answer(self, method: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """The reply to a request; None where it fails."""
        if self._must_fail(method) or (self.failed and not self.recovers):
            self.failed.append(method)
            if self.failure == "lost":
                self._do(method, body)
            return None
        self.requests.append((method, body))
        return self._do(method, body)

    def _do(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        experiment = {"experiment_id": "1", "name": "losslab", "lifecycle_stage": "active"}
        match method:
            case "experiments/get-by-name" | "experiments/get":
                return {"experiment": {**experiment, "artifact_location": "mlflow-artifacts:/1"}}
            case "runs/create":
                return {"run": self._create(body)}
            case "runs/search":
                return {"runs": [run for run in self.runs.values() if fits(run, body["filter"])]}
            case "runs/delete":
                del self.runs[body["run_id"]]
            case "runs/get":
                return {"run": self.runs[body["run_id"]]}
            case "runs/update":
                info = self.runs[body["run_id"]]["info"]
                info |= {name: body[name] for name in ("status", "end_time") if name in body}
                return {"run_info": info}
            case "runs/log-batch":
                data = self.runs[body["run_id"]]["data"]
                for name in ("metrics", "params", "tags"):
                    data[name] += [item for item in body.get(name, ()) if item not in data[name]]
        return {}

    def _create(self, body: dict[str, Any]) -> dict[str, Any]:
        run_id = uuid4().hex  # MLflow caches by it, whatever the server
        info = {
            "run_id": run_id,
            "run_uuid": run_id,
            "status": "RUNNING",
            "experiment_id": "1",
            "lifecycle_stage": "active",
            "artifact_uri": f"mlflow-artifacts:/1/{run_id}",
            "run_name": body.get("run_name"),
            "start_time": body.get("start_time", 0),
        }
        data = {"metrics": [], "params": [], "tags": list(body.get("tags", ()))}
        self.runs[run_id] = {"info": info, "data": data}
        return self.runs[run_id]

    def _must_fail(self, method: str) -> bool:
        if self.fails_at is None or self.fails_at not in method:
            return False
        return sum(self.fails_at in name for name, _ in self.requests) >= self.spared


def fits(run: dict[str, Any], condition: str) -> bool:
    """Whether a run fits a filter: a status, or the value of a tag."""
    name, value = re.fullmatch(r"(.+) = '(.*)'", condition).groups()
    if name == "attributes.status":
        return run["info"]["status"] == value
    return {"key": name.removeprefix("tags.").strip("`"), "value": value} in run["data"]["tags"]


class Handler(BaseHTTPRequestHandler):
    """Serves the API of one FakeServer."""

    fake: FakeServer

    def do_GET(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        url = urlsplit(self.path)
        if url.path.startswith(ARTIFACTS):
            answer = self.fake.answer("artifacts", {})
            if answer is not None:
                self.fake.artifacts[url.path.removeprefix(ARTIFACTS)] = content
        else:
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            answer = self.fake.answer(
                url.path.removeprefix(API), query | json.loads(content or "{}")
            )
        if answer is None and self.fake.failure == "hangs":
            self.fake.stopped.wait()
        if answer is None and self.fake.failure in ("hangs", "closed", "lost"):
            self.close_connection = True
            return
        self._reply(answer)

    do_POST = do_PUT = do_GET  # noqa: N815

    def _reply(self, answer: dict[str, Any] | None) -> None:
        refusal = {"error_code": "INVALID_PARAMETER_VALUE", "message": "no such thing"}
        failure = refusal if self.fake.failure == "400" else {}
        payload = json.dumps(failure if answer is None else answer).encode()
        self.send_response(int(self.fake.failure) if answer is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serve(server: FakeServer) -> Iterator[FakeServer]:
    """Serve while the block runs."""
    handler = type("FakeHandler", (Handler,), {"fake": server})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopped.set()
        http.shutdown()
        http.server_close()
        thread.join()
