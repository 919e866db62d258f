from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from bat.errors import InvalidInputError
from harness.report.parts import Markup, Missing
from harness.report.samples import side_by_side
from harness.store import Reader, open_reader
from tests.harness.report.formats import sampled_store
from tests.harness.report.formats.sampled_store import TOKENS, decode, make_results, make_store


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    path = tmp_path_factory.mktemp("samples") / "r.db"
    make_store(path).close()
    with open_reader(f"sqlite:///{path}") as opened:
        yield opened


def shown(reader: Reader, decoder: Any = decode, count: int = 2, **changes: Any) -> Markup:
    found = side_by_side(reader, make_results(reader, **changes), decoder, count)
    assert isinstance(found, Markup)
    return found


def cards(page: str) -> list[str]:
    return re.findall(r'<div class="continuation[^"]*">\n(.*?)</div>', page, re.DOTALL)


def plain(text: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def test_prefixes_are_spread_over_the_first_shard(reader: Reader) -> None:
    assert re.findall(r"Opening &lt;(\d)&gt;", shown(reader, count=2).html) == ["0", "2"]
    assert re.findall(r"Opening &lt;(\d)&gt;", shown(reader, count=3).html) == ["0", "1", "2"]
    assert re.findall(r"Opening &lt;(\d)&gt;", shown(reader, count=99).html) == ["0", "1", "2", "3"]


def test_people_come_first_then_every_method(reader: Reader) -> None:
    found = cards(shown(reader).html)
    titles = [plain(re.findall(r"<h5.*?</h5>", card)[0]) for card in found[:4]]
    assert titles == [
        "People",
        "eta=0.01 12 tokens",
        "ba-eta=0.05 (c=4) 12 tokens",
        "ba-epsilon=0.02 (c=4) 12 tokens",
    ]
    assert "& on 0" in plain(found[0])
    last = cards(shown(reader, count=4).html)[-1]
    assert "12 tokens, ended by the model" in plain(last)


def test_tokens_are_coloured_by_how_they_were_accepted(reader: Reader) -> None:
    eta, ba_eta = cards(shown(reader).html)[1:3]
    assert "<span" not in eta
    assert plain(re.findall(r'<p class="text">(.*?)</p>', eta, re.DOTALL)[0]) == "".join(TOKENS)
    spans = re.findall(r'<span class="(\w+)" title="([^"]*)">(.*?)</span>', ba_eta, re.DOTALL)
    tokens = [(kind, html.unescape(text)) for kind, _, text in spans if kind != "rejected"]
    assert tokens == [
        ("certified", " mayor"),
        ("fallback", "<b>"),
        ("fallback", " **x**"),
        ("certified", "\u21b5\n"),
        ("certified", ")"),
        ("fallback", "]"),
        ("certified", "`"),
        ("certified", " [1](u)"),
    ]
    rejected = [(text, html.unescape(title)) for kind, title, text in spans if kind == "rejected"]
    assert [count for count, _ in rejected] == ["2", "3", "1", "1", "1"]
    assert rejected[0][1] == "2 candidates rejected before this token: ' the', ' mayor'"
    assert rejected[1][1].endswith("'<b>', ' **x**', '\\n'; 1 of them undecided")
    assert spans[3][1].endswith("this is the most likely token, probability 0.092")
    assert spans[4][1].endswith("this is a draw from the exact candidate set, probability 0.14")
    assert "probability 0.046, below the threshold 0.6; accepted" in spans[1][1]


def test_the_page_has_a_style_for_every_class(reader: Reader) -> None:
    used = {name for names in re.findall(r'class="([^"]+)"', shown(reader).html) for name in names.split()}
    style = files("harness.report.formats").joinpath("style.css.j2").read_text()
    assert {"certified", "fallback", "rejected", "legend"} <= used
    assert {name for name in used if f".{name}" not in style} == set()
    for name, line in (("certified", "solid"), ("fallback", "wavy")):  # colour is not the only sign
        assert re.search(rf"\.{name} {{[^}}]*underline {line}", style)


def test_everything_is_escaped(reader: Reader) -> None:
    assert "<b>" not in shown(reader).html
    assert "<b>" not in shown(reader, None).html


def test_markdown_says_the_same(reader: Reader) -> None:
    text = shown(reader).markdown
    page = MarkdownIt("commonmark").render(text)
    ba_eta = next(one for one in re.findall(r"<p>.*?</p>", page, re.DOTALL) if "<strong>ba-eta" in one)
    assert [html.unescape(one) for one in re.findall(r"<strong>(.*?)</strong>", ba_eta)] == [
        *("ba-eta=0.05 (c=4)", "mayor", "\u21b5", ")", "`", "[1](u)"),
    ]
    assert [html.unescape(one) for one in re.findall(r"<em>(.*?)</em>", ba_eta)] == ["<b>", "**x**", "]"]
    assert re.findall(r"<sup>\[(\d)\]</sup>", ba_eta) == ["2", "3", "1", "1", "1"]
    assert "<a " not in page
    words = plain(re.sub(r"<sup>.*?</sup>", "", ba_eta).replace("<br>", "\n"))
    assert words.replace("\u21b5", "").endswith("".join(TOKENS))
    assert "<b>" not in page


@pytest.mark.parametrize("decoder", [None, decode])
def test_without_a_tokenizer_texts_are_plain_and_it_is_said_why(reader: Reader, decoder: Any) -> None:
    changes = {} if decoder is None else {"model_name": "unknown"}
    found = shown(reader, decoder, **changes)
    reason = "no tokenizer was given" if decoder is None else "there is no tokenizer of unknown."
    for text in (found.html, found.markdown):
        assert text.count("How tokens were accepted is not shown") == 1
        assert reason in text
        assert "certified" not in text
    assert "".join(TOKENS) + " (ba-eta after 0)" in plain(cards(found.html)[2])


def test_a_tokenizer_that_loses_tokens_is_not_believed(reader: Reader) -> None:
    def forgetful(model: str, context: Sequence[int], tokens: Sequence[int]) -> list[str]:
        return decode(model, context, tokens)[1:]

    found = shown(reader, forgetful)
    assert "must give a text for each token; got 11 for 12 tokens" in found.html
    assert "certified" not in found.html


def test_only_the_jobs_that_are_shown_are_read(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    generations = Reader.generations

    def counted(self: Reader, job_ids: Sequence[str]) -> Any:
        asked.extend(job_ids)
        return generations(self, job_ids)

    monkeypatch.setattr(Reader, "generations", counted)
    shown(reader)
    assert asked == [sampled_store.generate_job(setting, 0).id for setting in sampled_store.SETTINGS]


def test_the_first_model_on_test_text_is_shown_and_each_setting_once(reader: Reader) -> None:
    first = make_results(reader)
    other = make_results(reader, model="Large").results
    earlier = make_results(reader, split="validation", model="Medium").results
    several = dataclasses.replace(first, results=(*earlier, *first.results, *first.results, *other))
    found = side_by_side(reader, several, decode, 1)
    assert isinstance(found, Markup)
    assert len(cards(found.html)) == 1 + 3
    assert "Written by Small (not shown: Medium, Large) with seed 3." in plain(found.html)


def test_a_long_sweep_is_cut_and_it_is_said(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.report.samples._METHODS_SHOWN", 2)
    found = shown(reader, count=1)
    assert len(cards(found.html)) == 1 + 2
    assert "the first 2 of 3 settings" in found.html


def test_nothing_to_show_is_missing(reader: Reader) -> None:
    nothing = dataclasses.replace(make_results(reader), results=())
    found = side_by_side(reader, nothing, decode)
    assert isinstance(found, Missing)
    assert found.command.startswith("bat-harness run")


def test_a_number_of_prefixes_below_one_is_invalid(reader: Reader) -> None:
    with pytest.raises(InvalidInputError, match="at least 1; got 0"):
        side_by_side(reader, make_results(reader), decode, 0)


def test_the_same_store_gives_the_same_text(reader: Reader, tmp_path: Path) -> None:
    make_store(tmp_path / "again.db").close()
    with open_reader(f"sqlite:///{tmp_path / 'again.db'}") as again:
        assert side_by_side(again, make_results(again), decode, 3) == shown(reader, count=3)
