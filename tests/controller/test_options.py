"""Options of apps: what may be declared, and what becomes of the words that people give."""

from ipaddress import ip_network

import pytest

from trimtab.controller.options import DeclaresOptions, OptionError, Options


def test_values_belong_to_a_run_and_not_to_the_declaration() -> None:
    app = DeclaresOptions()
    cidr = app.option("allow-cidr", "A network.", parse=ip_network, many=True)
    seconds = app.option("timeout", "Seconds.", default=10.0, parse=float)
    one, other = Options({cidr: cidr.read(["10.0.0.0/8", "fc00::/7"])}), Options({seconds: seconds.read(["2.5"])})
    assert (one[cidr], one[seconds]) == ((ip_network("10.0.0.0/8"), ip_network("fc00::/7")), 10.0)
    assert (other[cidr], other[seconds]) == ((), 2.5)


def test_defaults_of_words_and_truths() -> None:
    app = DeclaresOptions()
    word, truth, number = app.option("a", ""), app.option("b", "", default=False, parse=bool), app.option("c", "")
    assert (Options()[word], Options()[truth], Options()[number]) == ("", False, "")
    assert [truth.read([text]) for text in ("true", "No", "on", "0")] == [True, False, True, False]


@pytest.mark.parametrize("name", ["", "-a", "A", "a_b", "a.b", "a--b", "ä"])
def test_a_name_that_could_not_be_typed_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match="is no name of an option"):
        DeclaresOptions().option(name, "")


def test_what_is_wrong_is_said_in_one_line() -> None:
    app = DeclaresOptions()
    cidr = app.option("allow-cidr", "A network.", parse=ip_network, many=True)
    with pytest.raises(OptionError, match=r"^--allow-cidr cannot be '10.0.0.1/8': .*has host bits set$"):
        cidr.read(["10.0.0.1/8"])
    with pytest.raises(OptionError, match=r"^--quiet cannot be 'maybe': say true or false$"):
        app.option("quiet", "", default=False, parse=bool).read(["maybe"])
    with pytest.raises(OptionError, match=r"^option 'quiet' is declared twice$"):
        app.option("quiet", "")


def test_what_a_run_has_one_of_is_made_once() -> None:
    app = DeclaresOptions()
    limit = app.option("limit", "How many.", default=3, parse=int)
    made: list[Options] = []

    def make(options: Options) -> list[int]:
        made.append(options)
        return [options[limit]]

    one, other = Options({limit: 5}), Options()
    assert one.once(make) == [5]
    assert one.once(make) is one.once(make)
    assert other.once(make) == [3]
    assert made == [one, other]
    third = Options()
    third.put(make, [7])
    assert third.once(make) == [7]
    assert made == [one, other]
