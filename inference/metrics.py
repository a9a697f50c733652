"""What a dispatcher counts for Prometheus. Names and meanings: docs/operations.md."""

from prometheus_client import Counter, Gauge, Histogram

FINISHED = Counter("parley_answers_finished_total", "Answers that reached an end", ["state", "error_code"])
HANDED_BACK = Counter(
    "parley_answers_handed_back_total", "Attempts that ended without the answer's end", ["why"]
)
FENCED = Counter("parley_answers_fenced_total", "Attempts dropped because another owner had taken over")
RUNNING = Gauge("parley_answers_running", "Answers this dispatcher runs now")
TOKENS = Counter("parley_tokens_released_total", "Tokens released to readers", ["model"])
FIRST_TOKEN = Histogram(
    "parley_first_token_seconds",
    "From the claim to the first released token",
    ["model"],
    buckets=(0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
CHECKPOINT_FAILED = Counter("parley_checkpoints_failed_total", "Checkpoints that Postgres did not take")
