"""From a seed to a history: the size of the world, what users want, what goes wrong.

Used by the simulator.  Everything is drawn from the seed, and stays as it was when a
part of it is taken away again (see ``testing.shrink``).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from heat_convergence.convergence.ports import Settings
from heat_convergence.testing.faults import Odds
from heat_convergence.testing.goals import BEHIND, Template, parse, text_of
from heat_convergence.testing.lives import Timed, life
from heat_convergence.testing.trees import Gardener
from heat_convergence.testing.users import Act
from heat_convergence.testing.world import Shape

_CRASHES: Odds = {"commit": {"crash-before": 0.02, "crash-after": 0.03},
                  "call": {"crash-before": 0.03, "crash-after": 0.05}}
_MESSAGES: Odds = {"send": {"lose": 0.15, "double": 0.1, "late": 0.1}}
_DATABASE: Odds = {"commit": {"deadlock": 0.08, "unavailable": 0.02}, "claim": {"skip": 0.1}}
_STALLS: Odds = {"task": {"stall": 0.08}}
_CLOUD: Odds = {
    "call": {
        "throttled": 0.04, "conflict": 0.03, "over-quota": 0.02, "temporary": 0.04,
        "timeout-after": 0.05, "lost-reply": 0.03,
    },
    "look": {"temporary": 0.05, "throttled": 0.03},
    "birth": {"slow": 0.05},
}
_FAILURES: Odds = {"call": {"permanent": 0.04}, "birth": {"error": 0.05, "never": 0.02}}


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Somebody else changes or deletes a thing: the ``share``-th of those alive."""

    at_s: float
    what: str  # "vanish" or "change"
    share: float


@dataclass(frozen=True, slots=True)
class Case:
    """All that a history follows from.  ``given`` None: faults by chance."""

    shape: Shape
    store: str
    acts: tuple[Timed, ...]
    disturbances: tuple[Disturbance, ...] = ()
    odds: Odds = field(default_factory=dict)
    given: Mapping[str, str] | None = None
    horizon_s: float = 100.0


def case(seed: int, *, steps: int = 400, store: str = "memory") -> Case:
    """The history of the seed: faults and users for ``steps`` / 4 seconds."""
    rng = random.Random(seed)
    horizon_s = steps / 4
    settings = Settings(
        batch_size=rng.choice((1, 2, 5)),
        jobs_in_flight=rng.choice((1, 2, 4, 50)),
        retry_limit=rng.choice((2, 5)),
        error_wait_s=60.0,
        action_timeout_s=rng.choice((300.0, 600.0)),
    )
    shape = Shape(
        seed=seed or 1,
        engines=rng.choice((1, 2, 3)),
        observers=rng.choice((1, 2)),
        group_size=rng.choice((1, 2, 5)),
        work_s=rng.choice((0.0, 2.0, 15.0)),
        settings=settings,
    )
    acts: list[Timed] = []
    for name in ("red", "blue")[: rng.choice((1, 1, 2))]:
        acts.extend(life(rng, name, horizon_s))
    looking = random.Random(f"converge {seed}")  # of its own: seeds keep their histories
    acts = [_perhaps_converging(timed, looking) for timed in acts]
    odds = _odds(rng)
    return Case(
        shape=shape,
        store=store,
        acts=tuple(sorted(acts, key=lambda timed: timed.at_s)),
        disturbances=_disturbances(rng, horizon_s),
        odds=odds,
        horizon_s=horizon_s,
    )


def _perhaps_converging(timed: Timed, rng: random.Random) -> Timed:
    converge = timed.act.verb == "update" and rng.random() < 0.2
    return replace(timed, act=replace(timed.act, converge=True)) if converge else timed


def tree_case(seed: int, *, steps: int = 400, store: str = "memory") -> Case:
    """The history of the seed with nests, groups and breakpoints in its templates."""
    flat = case(seed, steps=steps, store=store)
    rng = random.Random(f"tree {seed}")
    gardeners = {
        name: Gardener(rng, random.Random(f"groups {seed} {name}")) for name in ("red", "blue")
    }
    acts: list[Timed] = []
    for timed in flat.acts:
        act = timed.act
        text = text_of(gardeners[act.stack].planted(parse(act.text))) if act.text else ""
        acts.append(replace(timed, act=replace(act, text=text)))
    for name, gardener in gardeners.items():
        for path in gardener.hooks:
            clear = Act("clear", name, resource=path, step=rng.random() < 0.2)
            acts += [Timed(round(rng.uniform(0, flat.horizon_s), 3), clear) for _ in range(3)]
        for lever in gardener.levers:
            pull = Act("signal", name, resource=lever)
            acts += [Timed(round(rng.uniform(0, flat.horizon_s), 3), pull) for _ in range(3)]
    return replace(flat, acts=tuple(sorted(acts, key=lambda timed: timed.at_s)))


_BELOW = ("check", "suspend", "resume", "snapshot", "discard", "cancel", "stop")


def below_case(seed: int, *, steps: int = 400, store: str = "memory") -> Case:
    """The tree's history of the seed, in which users make requests about nested stacks, too:
    mostly while those above them take snapshots, and now and then at any time.  Such as do
    not change what the tree's template has there."""
    tree = tree_case(seed, steps=steps, store=store)
    rng = random.Random(f"below {seed}")
    acts = list(tree.acts)
    texts = [timed.act.text for timed in tree.acts if timed.act.text]
    nests = sorted({path for text in texts for path in _nests(parse(text))})
    for timed in tree.acts if nests else ():
        often = {"snapshot": 4, "update": 1}.get(timed.act.verb, int(rng.random() < 0.05))
        for _ in range(often):
            act = Act(rng.choice(_BELOW), f"{timed.act.stack}.{rng.choice(nests)}")
            acts.append(Timed(round(timed.at_s + rng.uniform(0.05, 12), 3), act))
    acts = [timed for timed in acts if timed.at_s < tree.horizon_s]
    return replace(tree, acts=tuple(sorted(acts, key=lambda timed: timed.at_s)))


def _nests(template: Template, above: str = "") -> Iterator[str]:
    """The paths of all that a stack is behind."""
    for name, spec in template.items():
        if spec.kind in BEHIND:
            yield f"{above}{name}"
            yield from _nests(spec.inside, f"{above}{name}.")


def _odds(rng: random.Random) -> Odds:
    """Each kind of trouble is there or not, mild or wild."""
    chosen: dict[str, dict[str, float]] = {}
    strength = rng.choice((0.3, 1.0, 2.0))
    for family in (_CRASHES, _MESSAGES, _DATABASE, _STALLS, _CLOUD, _FAILURES):
        if rng.random() < 0.45:
            for kind, faults in family.items():
                for fault, probability in faults.items():
                    chosen.setdefault(kind, {})[fault] = probability * strength
    return chosen


def _disturbances(rng: random.Random, horizon_s: float) -> tuple[Disturbance, ...]:
    if rng.random() < 0.75:
        return ()
    return tuple(
        Disturbance(round(rng.uniform(5, horizon_s), 3), rng.choice(("vanish", "change")),
                    rng.random())
        for _ in range(rng.randint(1, 3))
    )
