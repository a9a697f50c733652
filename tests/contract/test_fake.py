"""What the fake engine shows to others than the engine client: metrics, models, control, and its end."""

import json
import urllib.request

import pytest

from inference.core.values import Progress
from inference.engine import OpenAIEngine
from tests.contract.conftest import replica_of
from tests.contract.test_faults import asking
from tests.engines.fixtures import eventually
from tests.engines.process import FakeEngine


def get(fake: FakeEngine, path: str) -> str:
    with urllib.request.urlopen(fake.url + path, timeout=5) as answer:  # noqa: S310 our own URL
        return str(answer.read().decode())


async def test_metrics_have_the_engines_names(engine: OpenAIEngine, fake_engine: FakeEngine) -> None:
    stream = engine.stream(replica_of(fake_engine), asking("hi [[tokens=9999 gap_ms=20]]"), Progress(), None)
    await anext(stream)
    assert 'vllm:num_requests_running{model_name="fake"} 1' in get(fake_engine, "/metrics")
    await stream.aclose()
    await eventually(lambda: 'vllm:num_requests_running{model_name="fake"} 0' in get(fake_engine, "/metrics"))


def test_models_are_listed(fake_engine: FakeEngine) -> None:
    assert [model["id"] for model in json.loads(get(fake_engine, "/v1/models"))["data"]] == ["fake"]


def test_an_unknown_order_is_refused(fake_engine: FakeEngine) -> None:
    with pytest.raises(ValueError, match="colour"):
        fake_engine.control(colour="red")


def test_it_ends_with_whoever_started_it() -> None:
    fake = FakeEngine().start()
    assert fake._process is not None
    assert fake._process.stdin is not None
    fake._process.stdin.close()
    assert fake.wait() == 0
