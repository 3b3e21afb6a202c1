"""From a seed to a history: the size of the world, what users want, what goes wrong.

Used by the simulator.  Everything is drawn from the seed, and stays as it was when a
part of it is taken away again (see ``testing.shrink``).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from heat_convergence.convergence.ports import Settings
from heat_convergence.testing.faults import Odds
from heat_convergence.testing.goals import Spec, text_of
from heat_convergence.testing.users import Act
from heat_convergence.testing.world import Shape

NAMES = "abcdefgh"
_CRASHES: Odds = {"commit": {"crash-before": 0.02, "crash-after": 0.03},
                  "call": {"crash-before": 0.03, "crash-after": 0.05}}
_MESSAGES: Odds = {"send": {"lose": 0.15, "double": 0.1, "late": 0.1}}
_DATABASE: Odds = {"commit": {"deadlock": 0.08, "unavailable": 0.02}, "claim": {"skip": 0.1}}
_STALLS: Odds = {"task": {"stall": 0.04}}
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
class Timed:
    """A request, at a time in seconds."""

    at_s: float
    act: Act


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
        acts.extend(_life(rng, name, horizon_s))
    odds = _odds(rng)
    return Case(
        shape=shape,
        store=store,
        acts=tuple(sorted(acts, key=lambda timed: timed.at_s)),
        disturbances=_disturbances(rng, horizon_s),
        odds=odds,
        horizon_s=horizon_s,
    )


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


def _life(rng: random.Random, stack: str, horizon_s: float) -> list[Timed]:
    """A stack's requests: its create, and what is asked of it later."""
    template = _template(rng)
    rollback = rng.random() < 0.4
    at_s = rng.uniform(0, 3)
    acts = [Timed(round(at_s, 3), Act("create", stack, text_of(template), rollback))]
    hurried = rng.random() < 0.5
    for _ in range(rng.randint(1, 6)):
        at_s += rng.uniform(0.2, 8) if hurried else rng.uniform(5, 50)
        if at_s > horizon_s:
            break
        verb = rng.choices(
            ("update", "delete", "suspend", "resume", "check", "cancel", "stop"),
            weights=(14, 2, 2, 2, 1, 3, 1),
        )[0]
        text = ""
        if verb == "update":
            template = _changed(rng, template)
            text = text_of(template)
        acts.append(Timed(round(at_s, 3), Act(verb, stack, text, rollback and verb == "update")))
    return acts


def _template(rng: random.Random) -> dict[str, Spec]:
    template: dict[str, Spec] = {}
    for name in NAMES[: rng.randint(1, 6)]:
        template[name] = _wired(rng, _spec(rng, name), template)
    return template


def _spec(rng: random.Random, name: str) -> Spec:
    return Spec(
        name=name,
        kind=rng.choice(("Thing", "Thing", "Thing", "Rock")),
        size=rng.randint(1, 3),
        flavor=rng.choice(("plain", "salty")),
        retain=rng.random() < 0.05,
    )


def _wired(rng: random.Random, spec: Spec, others: Mapping[str, Spec]) -> Spec:
    """With needs among the others, so that there is no ring."""
    uses: dict[str, list[str]] = {"refs": [], "reads": [], "after": []}
    for name in sorted(others):
        if rng.random() < 0.35:
            uses[rng.choice(("refs", "reads", "after"))].append(name)
    return replace(spec, **{how: tuple(names) for how, names in uses.items()})


def _changed(rng: random.Random, template: Mapping[str, Spec]) -> dict[str, Spec]:
    """Another template: changed properties, fewer and more resources, other needs."""
    changed = dict(template)
    for _ in range(rng.randint(0, 3)):
        name = rng.choice(NAMES[:6])
        if name in changed and rng.random() < 0.3:
            del changed[name]
        elif name in changed:
            changed[name] = _touched(rng, changed[name])
        else:
            changed[name] = _spec(rng, name)
    order = sorted(changed)
    if rng.random() < 0.3:
        rng.shuffle(order)  # dependencies turn round
        return _rewired(rng, changed, order)
    return {
        name: replace(
            spec,
            refs=_still(spec.refs, changed),
            reads=_still(spec.reads, changed),
            after=_still(spec.after, changed),
        )
        for name, spec in changed.items()
    }


def _touched(rng: random.Random, spec: Spec) -> Spec:
    what = rng.choice(("size", "size", "grip", "flavor", "kind", "retain"))
    if what == "size":
        return replace(spec, size=rng.randint(1, 3))
    if what == "grip":
        return replace(spec, grip=rng.randint(1, 3))
    if what == "flavor":
        return replace(spec, flavor=rng.choice(("plain", "salty", "sweet")))
    if what == "kind":
        return replace(spec, kind=rng.choice(("Thing", "Rock")))
    return spec


def _rewired(
    rng: random.Random, template: Mapping[str, Spec], order: list[str]
) -> dict[str, Spec]:
    wired: dict[str, Spec] = {}
    for name in order:
        wired[name] = _wired(rng, template[name], wired)
    return wired


def _still(names: tuple[str, ...], template: Mapping[str, Spec]) -> tuple[str, ...]:
    return tuple(name for name in names if name in template)
