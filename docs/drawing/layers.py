"""A graph without circles in layers: each node above all that it leads to, arrows through the gaps between nodes.

Arrows that follow from others are left out.  An arrow that passes a layer has a point there; arrows to the same node
share their points, so that many arrows to one node look like one stream.
"""

from collections.abc import Mapping, Set
from statistics import mean

import attrs

Graph = Mapping[str, Set[str]]

SWEEPS = 8
"""Rounds in which order and places are sought, and rounds for the places alone."""


@attrs.frozen
class Spot:
    """A node in its layer, or a point through which arrows to ``name`` pass it."""

    name: str
    layer: int
    passing: bool = False


Near = Mapping[Spot, list[Spot]]
"""The spots at the other ends of a spot's arrows."""


@attrs.frozen
class Layout:
    """Spots by layer, each from left to right, with the centre of each; and the arrows between neighbouring layers."""

    layers: list[list[Spot]]
    centres: dict[Spot, float]
    arrows: list[tuple[Spot, Spot]]


def reduced(graph: Graph) -> dict[str, set[str]]:
    """Return the graph without the arrows that follow from others."""
    reached = {name: _reached(graph, name) for name in graph}
    return {
        name: {each for each in nexts if not any(each in reached[other] for other in nexts)}
        for name, nexts in graph.items()
    }


def _reached(graph: Graph, name: str) -> set[str]:
    found: set[str] = set()
    left = list(graph[name])
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            left += graph[each]
    return found


def layers_of(graph: Graph) -> dict[str, int]:
    """Return the layer of each node, 0 the lowest: as many as the longest way down from it has arrows.

    A node that leads nowhere stands right below those that lead to it.
    """
    found: dict[str, int] = {}

    def layer_of(name: str) -> int:
        if name not in found:
            found[name] = 1 + max((layer_of(each) for each in graph[name]), default=-1)
        return found[name]

    for name in graph:
        layer_of(name)
    for name, nexts in graph.items():
        if users := [found[each] for each in graph if name in graph[each]]:
            found[name] = found[name] if nexts else min(users) - 1
    return found


def lay_out(graph: Graph, widths: Mapping[str, float], gap: float) -> Layout:
    """Find a place for every node.

    :param graph: each node and those that it leads to, all of them keys too
    :param widths: of the nodes
    :param gap: between neighbours
    """
    layer_of = layers_of(graph)
    arrows = _arrows(reduced(graph), layer_of)
    spots = {Spot(name, layer_of[name]) for name in graph} | {each for arrow in arrows for each in arrow}
    depth = 1 + max(layer_of.values())
    near: dict[Spot, list[Spot]] = {spot: [] for spot in spots}
    for start, end in arrows:
        near[start].append(end)
        near[end].append(start)
    room = {spot: 0.0 if spot.passing else widths[spot.name] for spot in spots}
    layers = [[spot for spot in sorted(near, key=attrs.astuple) if spot.layer == layer] for layer in range(depth)]
    centres = {spot: float(index) for layer in layers for index, spot in enumerate(layer)}
    for sweep in range(2 * SWEEPS):
        for layer in layers if sweep % 2 else reversed(layers):
            wanted = {spot: mean([centres[each] for each in near[spot]] or [centres[spot]]) for spot in layer}
            if sweep < SWEEPS:
                layer.sort(key=lambda spot: (wanted[spot], spot.name))
                _uncross(layer, near, centres)
            _place(layer, wanted, room, gap, centres)
    return Layout(layers, centres, sorted(arrows, key=_order))


def _uncross(layer: list[Spot], near: Near, centres: Mapping[Spot, float]) -> None:
    """Exchange neighbours in a layer as long as that leaves fewer arrows crossing each other."""
    for _ in layer:
        for at in range(len(layer) - 1):
            one, other = layer[at], layer[at + 1]
            if _crossings(other, one, near, centres) < _crossings(one, other, near, centres):
                layer[at], layer[at + 1] = other, one


def _crossings(left: Spot, right: Spot, near: Near, centres: Mapping[Spot, float]) -> int:
    """Return how many arrows of ``left`` cross one of ``right``."""
    return sum(centres[one] > centres[other] for one in near[left] for other in near[right] if one.layer == other.layer)


def _order(arrow: tuple[Spot, Spot]) -> tuple[int, str, str]:
    start, end = arrow
    return -start.layer, start.name, end.name


def _arrows(graph: Graph, layer_of: Mapping[str, int]) -> set[tuple[Spot, Spot]]:
    found = set()
    for name, nexts in graph.items():
        for each in nexts:
            here, end = Spot(name, layer_of[name]), Spot(each, layer_of[each])
            for layer in range(here.layer - 1, end.layer, -1):
                there = Spot(each, layer, passing=True)
                found.add((here, there))
                here = there
            found.add((here, end))
    return found


def _place(
    layer: list[Spot],
    wanted: Mapping[Spot, float],
    widths: Mapping[Spot, float],
    gap: float,
    centres: dict[Spot, float],
) -> None:
    """Put the spots of a layer as near as they may be to where they want to be, in their order."""
    left: list[float] = []
    for spot in layer:
        start = wanted[spot] - widths[spot] / 2
        left.append(max(start, left[-1] + widths[layer[len(left) - 1]] + gap) if left else start)
    # All were pushed to the right only: half of the way back is fair to both sides.
    shift = mean([left[index] + widths[spot] / 2 - wanted[spot] for index, spot in enumerate(layer)])
    for index, spot in enumerate(layer):
        centres[spot] = left[index] + widths[spot] / 2 - shift
