"""What a web process counts of its readers for Prometheus. Names and meanings: docs/operations.md."""

from prometheus_client import Gauge

SOCKETS = Gauge("parley_sockets", "Websockets open in this process")
READERS = Gauge("parley_readers", "Answers being followed in this process, over websockets and event streams")
