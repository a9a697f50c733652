"""The file of models: what it may say, and errors that name file, model and field."""

import os
from pathlib import Path

import pytest

from inference import catalogue
from inference.core.values import Patience, ReplicaView
from inference.errors import CatalogueError

REPLICA = """
[[models.replicas]]
id = "{id}"
url = "{url}"
max_running = 4
"""
MODEL = """
[[models]]
id = "{id}"
name = "Model {id}"
version = "1"
context_length = 2048
max_tokens = 512
"""


def model(id: str, more: str = "", url: str = "http://127.0.0.1:8001") -> str:
    return MODEL.format(id=id) + more + "\n" + REPLICA.format(id=f"{id}-1", url=url)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalogue.toml"


def test_a_model_is_read_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_KEY", "hidden")
    path.write_text(
        MODEL.format(id="big")
        + """
aliases = ["large", "default"]
continues = ["ids", "text"]
system_prompt = "Be brief."
first_token_timeout_s = 12
token_gap_timeout_s = 3.5
sampling = {temperature = 0.5, top_p = 0.9}
[[models.replicas]]
id = "gpu-1"
url = "https://gpu-1:8000/"
max_running = 16
keeps_connections = false
api_key_env = "ENGINE_KEY"
"""
    )
    read = catalogue.load(path)
    big = read.default
    assert (big.id, big.version, big.context_length, big.max_tokens) == ("big", "1", 2048, 512)
    assert (big.system_prompt, big.sampling) == ("Be brief.", catalogue.Sampling(0.5, 0.9))
    assert big.patience == Patience(first_token_s=12, token_gap_s=3.5)
    assert read.find("large") is read.find("default") is read.find("big") is big
    assert read.find("small") is None
    assert read.replicas == (
        ReplicaView(
            "gpu-1",
            "https://gpu-1:8000",
            "big",
            16,
            version="1",
            continues=("ids", "text"),
            keeps_connections=False,
            api_key="hidden",
        ),
    )


def test_the_one_marked_is_the_default_whatever_the_order(path: Path) -> None:
    path.write_text(model("a") + model("b", "default = true", "http://127.0.0.1:8002"))
    assert catalogue.load(path).default.id == "b"
    assert [each.default for each in catalogue.load(path).models] == [False, True]


BROKEN = {
    "no models": ("", "", "models"),
    "a list that is none": ("models = 3", "", "models"),
    "no toml": ("[[models", "", ""),
    "an unknown table": (model("a") + "[engines]\n", "", "engines"),
    "an unknown field": (model("a", "colour = 1"), "a", "colour"),
    "a missing field": (model("a").replace('version = "1"', ""), "a", "version"),
    "a field of another type": (model("a").replace("= 2048", '= "many"'), "a", "context_length"),
    "a number out of range": (model("a").replace("max_tokens = 512", "max_tokens = 0"), "a", "max_tokens"),
    "an answer over the context": (model("a").replace("= 512", "= 2048"), "a", "max_tokens"),
    "a way that is none": (model("a", 'continues = ["luck"]'), "a", "continues[0]"),
    "a way twice": (model("a", 'continues = ["text", "text"]'), "a", "continues"),
    "a temperature that is none": (model("a", "sampling = {temperature = 9}"), "a", "sampling.temperature"),
    "an unknown field of a replica": (model("a") + "colour = 1\n", "a", "replicas[0].colour"),
    "no replicas": (MODEL.format(id="a"), "a", "replicas"),
    "two of one id": (model("a", "default = true") + model("a", "", "http://h:1"), "a", "id"),
    "an alias that is taken": (
        model("a", "default = true") + model("b", 'aliases = ["a"]', "http://h:1"),
        "b",
        "aliases",
    ),
    "a replica twice": (model("a") + REPLICA.format(id="a-1", url="http://h:1"), "a", "replicas.id"),
    "an address twice": (
        model("a", "default = true") + model("b", "", "http://127.0.0.1:8001/"),
        "b",
        "replicas.url",
    ),
    "two defaults": (
        model("a", "default = true") + model("b", "default = true", "http://h:1"),
        "b",
        "default",
    ),
    "no default of two": (model("a") + model("b", "", "http://h:1"), "", "default"),
    "a key that is not set": (model("a") + 'api_key_env = "NOT_SET_ANYWHERE"\n', "a", "replicas.api_key_env"),
    **{
        f"the address {url!r}": (model("a", "", url), "a", "replicas.url")
        for url in (
            "",
            "127.0.0.1:8001",
            "ftp://host",
            "http://",
            "http://host:99999",
            "http://host/v1",
            "http://host/v1/",
            "http://me:secret@host",
            "http://host?x=1",
        )
    },
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_refused_by_file_model_and_field(path: Path, case: str) -> None:
    text, model_id, field = BROKEN[case]
    path.write_text(text)
    with pytest.raises(CatalogueError) as refused:
        catalogue.load(path)
    assert (refused.value.path, refused.value.model, refused.value.field) == (str(path), model_id, field)
    assert str(path) in str(refused.value)


def test_a_missing_file_is_named(path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"catalogue\.toml: can't be read"):
        catalogue.load(path)


@pytest.fixture
def in_use(path: Path, monkeypatch: pytest.MonkeyPatch, settings) -> Path:  # type: ignore[no-untyped-def]
    """The catalogue of a fresh process."""
    monkeypatch.setattr(catalogue, "_kept", None)
    settings.CATALOGUE = str(path)
    return path


def write(path: Path, text: str, mtime: int) -> None:
    path.write_text(text)
    os.utime(path, (mtime, mtime))


def test_the_current_one_is_read_again_when_the_file_changes(in_use: Path) -> None:
    write(in_use, model("a"), 1)
    first = catalogue.current()
    assert first.default.id == "a"
    assert catalogue.current() is first
    write(in_use, model("b", "first_token_timeout_s = 7"), 2)
    assert catalogue.current().default.id == "b"
    assert catalogue.patience("b").first_token_s == 7
    assert catalogue.patience("a") == Patience()


def test_a_file_broken_in_mid_edit_changes_nothing(in_use: Path) -> None:
    write(in_use, model("a"), 1)
    first = catalogue.current()
    write(in_use, "[[models", 2)
    assert catalogue.current() is first
    in_use.unlink()
    assert catalogue.current() is first
    write(in_use, model("b"), 3)
    assert catalogue.current().default.id == "b"


def test_the_first_read_of_a_broken_file_fails(in_use: Path) -> None:
    write(in_use, "", 1)
    with pytest.raises(CatalogueError):
        catalogue.current()


def test_the_shipped_file_is_good() -> None:
    shipped = catalogue.load(Path(__file__).parents[2] / "config" / "catalogue.toml")
    assert shipped.default.id == "smollm2"
    assert shipped.default.continues == ("text",)
