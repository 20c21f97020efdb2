"""Spark standalone on loopback: a master and workers from the PySpark package, and drivers that do as they are told.

Each is a process of its own, with a folder of its own; tables are all that they share. All are ended by their ids.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pyspark
from running import HOST, _free_port
from spark_machine import JAVA_OPTIONS
from storage import wait

SPARK_HOME = Path(pyspark.__file__).parent
DRIVER = Path(__file__).with_name("driver.py")
START_SECONDS = 90
CALL_SECONDS = 300
_MARK = "@@"


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return what processes of Spark inherit."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    return {
        **kept,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "TMPDIR": str(folder),
        **more,
    }


def end(process: psutil.Process | subprocess.Popen[Any]) -> None:
    """End a process and all that it started, at once."""
    try:
        parent = psutil.Process(process.pid)
        doomed = [*parent.children(recursive=True), parent]
    except psutil.NoSuchProcess:
        return
    for one in doomed:
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue
    if isinstance(process, subprocess.Popen):
        process.wait(30)
    psutil.wait_procs(doomed, 30)


class Daemon:
    """A master or a worker.

    Parameters
    ----------
    folder
        Its own; made.
    kind
        Class of Spark.
    host
        Address that it binds.
    arguments
        Its arguments.
    """

    def __init__(self, folder: Path, kind: str, host: str, arguments: Sequence[object]) -> None:
        folder.mkdir()
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(SPARK_HOME / "bin" / "spark-class"), kind, "--host", host, *map(str, arguments)],
                cwd=folder,
                env=environment(folder, SPARK_LOCAL_IP=host),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def said(self, text: str) -> bool:
        """Whether the log has a text."""
        return text in self.log.read_text(errors="replace")

    def holds(self, process: psutil.Process) -> bool:
        """Whether a process is one of those that this one started."""
        return any(one.pid == self.process.pid for one in process.parents())


class Cluster:
    """A master and workers; a context manager.

    Parameters
    ----------
    folder
        For logs and scratch files of each.
    num_workers, memory
        How many, with one core each, and what each has for heaps of executors, as Spark writes it.
    """

    def __init__(self, folder: Path, num_workers: int = 2, memory: str = "1g") -> None:
        self.folder = folder
        self._num_workers, self._memory = num_workers, memory
        self._made = 0
        self.workers: list[Daemon] = []
        self.drivers: list[Driver] = []

    def __enter__(self) -> Cluster:
        port = _free_port()
        self.url = f"spark://{HOST}:{port}"
        options = ["--port", port, "--webui-port", 0]
        self._master = Daemon(self.folder / "master", "org.apache.spark.deploy.master.Master", HOST, options)
        try:
            if not wait(lambda: self._master.said("I have been elected leader"), START_SECONDS):
                raise RuntimeError(f"the master did not start: {self._master.log.read_text()[-2000:]}")
            for _ in range(self._num_workers):
                self.add_worker()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for one in [*self.drivers, *self.workers, self._master]:
            end(one.process)

    def add_worker(self) -> Daemon:
        """Start a worker and wait until the master knows it."""
        self._made += 1
        folder = self.folder / f"worker{self._made}"
        options = ["--cores", 1, "--memory", self._memory, "--webui-port", 0, "--work-dir", folder / "work", self.url]
        # Each on a host of its own: Spark runs no second attempt where the first one runs.
        host = f"127.0.0.{1 + self._made}"
        worker = Daemon(folder, "org.apache.spark.deploy.worker.Worker", host, options)
        self.workers.append(worker)
        if not wait(lambda: worker.said("Successfully registered with master"), START_SECONDS):
            raise RuntimeError(f"a worker did not start: {worker.log.read_text()[-2000:]}")
        return worker

    def kill_worker_of(self, process: psutil.Process) -> None:
        """Kill a worker with its executors and their Python processes: the machine is gone."""
        (worker,) = [one for one in self.workers if one.holds(process)]
        self.kill_worker(worker)

    def kill_worker(self, worker: Daemon) -> None:
        """Kill a worker with its executors and their Python processes."""
        self.workers.remove(worker)
        end(worker.process)

    def driver(self, name: str, settings: Mapping[str, str], env: Mapping[str, str]) -> Driver:
        """Start an application; parameters are those of `Driver`."""
        self._made += 1
        driver = Driver(self.folder / f"driver{self._made}", self.url, name, settings, env)
        self.drivers.append(driver)
        return driver


class Driver:
    """An application of its own process, which does one thing after another as it is told.

    Parameters
    ----------
    folder
        Its own; made.
    master
        URL of the master.
    name
        Of the application.
    settings
        Of Spark, besides those that all have.
    env
        Variables of the environment, likewise.
    """

    def __init__(
        self, folder: Path, master: str, name: str, settings: Mapping[str, str], env: Mapping[str, str]
    ) -> None:
        folder.mkdir()
        self.log = folder / "log"
        given = {"spark.master": master, "spark.app.name": name, **SETTINGS, **settings}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(DRIVER), json.dumps(given)], cwd=folder, env=environment(folder, **env), text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def begin(self, name: str, **arguments: Any) -> None:
        """Tell it to do something, and do not wait."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": name, **arguments}) + "\n")
        self.process.stdin.flush()

    def answer(self, seconds: float = CALL_SECONDS) -> Any:
        """Return what came of it.

        Raises
        ------
        DriverError
            It failed, or the driver is gone.
        """
        try:
            said = self._answers.get(timeout=seconds)
        except queue.Empty:
            raise DriverError(f"no answer within {seconds} s; the log ends with {self._tail()}") from None
        if said is None:
            raise DriverError(f"the driver is gone; its log ends with {self._tail()}")
        if "error" in said:
            raise DriverError(said["error"])
        return said["value"]

    def call(self, name: str, **arguments: Any) -> Any:
        """Tell it to do something, and return what came of it; errors are those of `answer`."""
        self.begin(name, **arguments)
        return self.answer()

    def stop(self) -> None:
        """End it, and its JVM."""
        if self.process.poll() is None and self.process.stdin is not None:
            self.process.stdin.close()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                end(self.process)

    def kill(self) -> None:
        """Kill it, its JVM and what that started."""
        end(self.process)

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(_MARK):
                self._answers.put(json.loads(line.removeprefix(_MARK)))
        self._answers.put(None)

    def _tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]


class DriverError(Exception):
    """What a driver was told to do failed."""


SETTINGS = {
    "spark.driver.memory": "512m",
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "WARN",
}
