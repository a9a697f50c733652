"""What the encoder counts, for Prometheus; one registry a server, so that two in one process don't mix.

No labels from outside: a caller can't make new time series.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest


class Metrics:
    """The encoder's series."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._answers = Counter(
            "parley_encoder_answers_total", "Answers by status", ["status"], registry=self._registry
        )
        self._dropped = Counter(
            "parley_encoder_dropped_texts_total",
            "Texts taken out of the queue: late, or the caller left",
            registry=self._registry,
        )
        self._waiting = Gauge("parley_encoder_waiting_texts", "Texts in the queue", registry=self._registry)
        self._ready = Gauge("parley_encoder_ready", "1 once the model is loaded", registry=self._registry)
        self._sizes = Histogram(
            "parley_encoder_batch_texts", "Texts in a batch", buckets=range(1, 9), registry=self._registry
        )
        self._seconds = Histogram(
            "parley_encoder_batch_seconds",
            "Time a batch took on the worker thread",
            buckets=(0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.2),
            registry=self._registry,
        )

    def answered(self, status: int) -> None:
        """One request was answered."""
        self._answers.labels(str(status)).inc()

    def batch(self, texts: int, seconds: float) -> None:
        """One batch was computed."""
        self._sizes.observe(texts)
        self._seconds.observe(seconds)

    def dropped(self, texts: int) -> None:
        """Texts left the queue without being computed."""
        self._dropped.inc(texts)

    def waiting(self, texts: int) -> None:
        """The queue has this length now."""
        self._waiting.set(texts)

    def ready(self) -> None:
        """The model is loaded."""
        self._ready.set(1)

    def page(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self._registry)
