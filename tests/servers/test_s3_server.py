"""The S3 server that tables are written to by many: a conditional put is one step, however long storing takes."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from moto.s3.models import S3Backend
from s3_server import Application, server
from werkzeug.test import Client

# As S3's clients sign: tells moto which service is meant.
SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host"}
WRITERS = 8


def statuses(application: Any) -> list[int]:
    """Put one object from many threads, if there is none; what each was told."""
    told: list[int] = []
    assert Client(application).put("/bucket", headers=SIGNED).status_code == 200
    together = threading.Barrier(WRITERS)

    def put() -> None:
        together.wait()
        headers = {**SIGNED, "If-None-Match": "*"}
        told.append(Client(application).put("/bucket/one", data=b"x", headers=headers).status_code)

    threads = [threading.Thread(target=put) for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(told)


@pytest.fixture
def slow_store(monkeypatch: pytest.MonkeyPatch) -> None:
    store = S3Backend.put_object

    def put_object(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.02)
        return store(*args, **kwargs)

    monkeypatch.setattr(S3Backend, "put_object", put_object)


@pytest.mark.usefixtures("slow_store")
def test_one_conditional_put_of_many_wins() -> None:
    assert statuses(Application(server.create_backend_app)) == [200] + [412] * (WRITERS - 1)
