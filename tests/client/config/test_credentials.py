"""How proofs stay fresh: read again by the clock, minted once however many wait, never without need."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from trimtab.client.config.credentials import Fixed, Minted, Minting, Proof, Rotating, basic, bearer
from trimtab.client.config.errors import ConfigError


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


def token_file(path: Path) -> Callable[[], Proof]:
    def load() -> Proof:
        try:
            return Proof(bearer(path.read_text(), f"the token in {path.name}"))
        except FileNotFoundError as error:
            raise ConfigError("the token is gone") from error

    return load


async def authorization(credentials: Rotating | Minting) -> str:
    return (await credentials.proof()).headers["Authorization"]


async def test_a_token_file_is_read_again_when_its_time_is_over(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", Clock()
    path.write_text("one\n")
    credentials = Rotating(token_file(path), clock=clock)
    first = await credentials.proof()
    path.write_text("two")
    clock.time += 49.9
    assert await credentials.proof() is first, "50 s are not over"
    clock.time += 0.1
    assert await authorization(credentials) == "Bearer two"


async def test_an_unchanged_file_is_the_same_proof(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", Clock()
    path.write_text("one")
    credentials = Rotating(token_file(path), clock=clock)
    first = await credentials.proof()
    clock.time += 1000
    assert await credentials.proof() is first
    assert not await credentials.rejected(first), "the same token is not worth a second try"


async def test_a_401_reads_the_file_at_once_and_a_late_one_does_not(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", Clock()
    path.write_text("one")
    credentials = Rotating(token_file(path), clock=clock)
    first = await credentials.proof()
    path.write_text("two")
    assert await credentials.rejected(first)
    path.unlink()
    assert await credentials.rejected(first), "somebody has read the file since"
    assert await authorization(credentials) == "Bearer two"


async def test_a_file_that_vanishes_leaves_the_token_until_the_server_refuses_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, clock = tmp_path / "token", Clock()
    path.write_text("one")
    credentials = Rotating(token_file(path), clock=clock)
    path.unlink()
    clock.time += 50
    with caplog.at_level(logging.WARNING):
        proof = await credentials.proof()
    assert proof.headers["Authorization"] == "Bearer one"
    assert caplog.messages == ["the token is gone; going on with what was read before"]
    await credentials.proof()
    assert len(caplog.messages) == 1, "told once in a period"
    with pytest.raises(ConfigError, match=r"^the token is gone$"):
        await credentials.rejected(proof)


def test_a_file_that_is_missing_from_the_start_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^the token is gone$"):
        Rotating(token_file(tmp_path / "token"))


class Mint:
    """Mints numbered tokens, when it is let."""

    def __init__(self, clock: Clock, lifetime: float | None = None) -> None:
        self.clock, self.lifetime = clock, lifetime
        self.runs = self.cancelled = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: ConfigError | None = None

    async def __call__(self) -> Minted:
        self.runs += 1
        run = self.runs
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            for _ in range(5):  # as a program takes a moment to die
                await asyncio.sleep(0)
            raise
        if self.error:
            raise self.error
        expires = None if self.lifetime is None else self.clock() + self.lifetime
        return Minted(Proof(bearer(f"token-{run}")), expires)


async def test_expiry_decides_when_to_mint_again() -> None:
    clock = Clock()
    mint = Mint(clock, lifetime=60)
    credentials = Minting(mint, now=clock)
    first = await credentials.proof()
    clock.time += 59.9
    assert await credentials.proof() is first
    clock.time += 0.1
    assert await authorization(credentials) == "Bearer token-2"
    mint.lifetime = None
    clock.time += 60
    await credentials.proof()
    clock.time += 1e9
    assert await authorization(credentials) == "Bearer token-3", "without an expiry, until somebody objects"


async def test_what_has_expired_when_it_comes_is_used_and_minted_once_a_second() -> None:
    clock = Clock()
    mint = Mint(clock, lifetime=-5)
    credentials = Minting(mint, now=clock)
    first = await credentials.proof()
    clock.time += 0.9
    assert await credentials.proof() is first
    clock.time += 0.1
    assert await authorization(credentials) == "Bearer token-2"


async def test_many_wait_for_one_mint() -> None:
    mint = Mint(Clock())
    credentials = Minting(mint)
    mint.gate.clear()
    waiting = [asyncio.create_task(credentials.proof()) for _ in range(100)]
    await asyncio.sleep(0)
    mint.gate.set()
    proofs = await asyncio.gather(*waiting)
    assert mint.runs == 1
    assert all(proof is proofs[0] for proof in proofs)


async def test_many_401s_cause_one_mint_and_all_learn_of_it() -> None:
    mint = Mint(Clock())
    credentials = Minting(mint)
    first = await credentials.proof()
    mint.gate.clear()
    rejected = [asyncio.create_task(credentials.rejected(first)) for _ in range(100)]
    await asyncio.sleep(0)
    mint.gate.set()
    answers = await asyncio.gather(*rejected)
    assert mint.runs == 2
    assert all(answers)
    assert await credentials.rejected(first), "a late 401 for an old proof needs no mint"
    assert mint.runs == 2


async def test_a_server_that_refuses_everybody_does_not_cause_a_mint_a_request() -> None:
    clock = Clock()
    mint = Mint(clock)
    credentials = Minting(mint, clock=clock)
    assert await credentials.rejected(await credentials.proof())
    assert not await credentials.rejected(await credentials.proof())
    clock.time += 10
    assert await credentials.rejected(await credentials.proof())
    assert mint.runs == 3


async def test_all_who_wait_hear_of_a_failure_and_the_next_tries_anew() -> None:
    mint = Mint(Clock())
    mint.error = ConfigError("no luck")
    credentials = Minting(mint)
    outcomes = await asyncio.gather(*(credentials.proof() for _ in range(20)), return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["no luck"] * 20
    assert mint.runs == 1
    mint.error = None
    assert await authorization(credentials) == "Bearer token-2"


async def test_a_wall_clock_that_is_set_back_does_not_keep_a_refused_proof() -> None:
    wall, clock = Clock(), Clock()
    credentials = Minting(Mint(wall), now=wall, clock=clock)
    assert await credentials.rejected(await credentials.proof())
    wall.time -= 3600
    clock.time += 10
    assert await credentials.rejected(await credentials.proof())


async def given_up(credentials: Minting) -> None:
    """A request whose time is up while it waits for its credentials."""
    waiting = asyncio.create_task(credentials.proof())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()


async def test_a_mint_outlives_those_who_wait_and_the_next_finds_what_came_of_it() -> None:
    mint = Mint(Clock())
    credentials = Minting(mint)
    mint.gate.clear()
    await given_up(credentials)
    await given_up(credentials)
    joined = asyncio.create_task(credentials.proof())
    await asyncio.sleep(0)
    mint.gate.set()
    assert await credentials.proof() is await joined
    assert (mint.runs, mint.cancelled) == (1, 0)


async def test_a_mint_that_fails_when_nobody_waits_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    mint = Mint(Clock())
    mint.error = ConfigError("no luck")
    credentials = Minting(mint)
    mint.gate.clear()
    await given_up(credentials)
    mint.gate.set()
    assert credentials._run
    await asyncio.wait([credentials._run])
    assert [(r.levelname, r.message, r.exc_info) for r in caplog.records] == [("WARNING", "no luck", None)]
    mint.error = None
    assert await authorization(credentials) == "Bearer token-2"


async def test_closing_ends_a_mint_that_nobody_waits_for() -> None:
    mint = Mint(Clock())
    credentials = Minting(mint)
    await credentials.close()
    mint.gate.clear()
    waiting = asyncio.create_task(credentials.proof())
    await asyncio.sleep(0)
    await credentials.close()
    assert mint.cancelled == 0, "another client has the same credentials"
    waiting.cancel()
    await asyncio.wait([waiting])
    closing = asyncio.create_task(credentials.close())
    await asyncio.sleep(0)
    late = asyncio.create_task(credentials.proof())
    await closing
    assert mint.cancelled == 1
    mint.gate.set()
    assert (await late).headers["Authorization"] == "Bearer token-2", "who comes while it ends starts another"


async def test_an_equal_proof_stays_the_same_object() -> None:
    """So a certificate that a plugin prints again does not cost the connection pool."""

    async def mint() -> Minted:
        return Minted(Proof(bearer("same")), expires=0)

    clock = Clock()
    credentials = Minting(mint, now=clock)
    first = await credentials.proof()
    clock.time += 5
    assert await credentials.proof() is first
    assert not await credentials.rejected(first)


@pytest.mark.parametrize("token", ["a b", "a\r\nX-Evil: 1", "t\u00f6ken", "a\x00"])
def test_a_token_cannot_smuggle_a_header(token: str) -> None:
    with pytest.raises(ConfigError) as error:
        bearer(token, "this one")
    assert str(error.value) == "this one has a space, a line break or another character that no token has"


def test_headers() -> None:
    assert bearer(" abc\n") == {"Authorization": "Bearer abc"}
    assert basic("ann", "pässwörd:x") == {"Authorization": "Basic YW5uOnDDpHNzd8O2cmQ6eA=="}
    with pytest.raises(ConfigError, match=r"^it is empty$"):
        bearer("\n", "it")


def test_no_repr_shows_a_secret() -> None:
    proof = Proof(bearer("hush"))
    assert "hush" not in f"{proof} {Fixed(proof)} {Rotating(lambda: proof)}"
