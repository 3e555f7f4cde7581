"""An MLflow server on 127.0.0.1 that can be made to fail."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

API = "/api/2.0/mlflow/"


@dataclass
class FakeServer:
    """What the server was asked, and when it begins to fail.

    Args:
        failure: ``"500"``, or ``"closed"``: it hangs up without an answer.
        fails_at: from the first request on whose method has this name; "" is any.
        spared: how many such requests it answers first.
        recovers: whether other methods work after that.
    """

    failure: str
    fails_at: str | None = None
    spared: int = 0
    recovers: bool = False
    url: str = ""
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def answer(self, method: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """The reply to a request; None where it fails."""
        if self._must_fail(method) or (self.failed and not self.recovers):
            self.failed.append(method)
            return None
        self.requests.append((method, body))
        artifacts = "mlflow-artifacts:/1"
        info = {"experiment_id": "1", "lifecycle_stage": "active", "artifact_uri": artifacts}
        run_info = {**info, "run_id": self._run_id(method), "status": "RUNNING", "start_time": 0}
        run = {"info": {**run_info, "run_uuid": run_info["run_id"]}, "data": {}}
        return {
            "experiments/get-by-name": {"experiment": {**info, "name": "losslab"}},
            "experiments/get": {"experiment": {**info, "name": "losslab"}},
            "runs/create": {"run": run},
            "runs/get": {"run": run},
            "runs/update": {"run_info": run["info"]},
        }.get(method, {})

    def _must_fail(self, method: str) -> bool:
        if self.fails_at is None or self.fails_at not in method:
            return False
        return sum(self.fails_at in name for name, _ in self.requests) >= self.spared

    def _run_id(self, method: str) -> str:
        created = sum(name == "runs/create" for name, _ in self.requests)
        return f"{created:032x}"


@contextmanager
def serve(server: FakeServer) -> Iterator[FakeServer]:
    """Serve while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            content = self.rfile.read(size) or b"{}"
            path = self.path.partition("?")[0]
            answer = server.answer(
                path.removeprefix(API), json.loads(content) if path.startswith(API) else {}
            )
            if answer is None and server.failure == "closed":
                self.close_connection = True
                return
            payload = json.dumps(answer or {}).encode()
            self.send_response(500 if answer is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_POST = do_PUT = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
