"""Graphs in layers."""

from itertools import pairwise

import pytest

from docs.drawing.layers import Spot, lay_out, layers_of, reduced

DIAMOND = {"top": {"left", "right", "bottom"}, "left": {"bottom"}, "right": {"bottom"}, "bottom": set()}


def test_an_arrow_that_follows_from_others_is_left_out() -> None:
    assert reduced(DIAMOND)["top"] == {"left", "right"}


def test_a_node_stands_above_all_that_it_leads_to() -> None:
    assert layers_of(DIAMOND) == {"top": 2, "left": 1, "right": 1, "bottom": 0}


def test_a_node_that_leads_nowhere_stands_right_below_those_that_lead_to_it() -> None:
    graph = {"a": {"b", "leaf"}, "b": {"c"}, "c": set(), "leaf": set()}
    assert layers_of(graph)["leaf"] == layers_of(graph)["a"] - 1 == 1


def test_an_arrow_has_a_point_in_each_layer_that_it_passes() -> None:
    graph = {"a": {"b", "d"}, "b": {"c"}, "c": {"e"}, "d": {"e"}, "e": {"f"}, "f": set()}
    arrows = lay_out(graph, dict.fromkeys(graph, 10.0), 5.0).arrows
    assert (Spot("a", 4), Spot("d", 3, passing=True)) in arrows
    assert (Spot("d", 3, passing=True), Spot("d", 2)) in arrows


@pytest.mark.parametrize("width", [10.0, 90.0])
def test_neighbours_keep_their_distance(width: float) -> None:
    graph = {"top": {"one", "two", "three", "four"}, "one": set(), "two": set(), "three": set(), "four": set()}
    layout = lay_out(graph, dict.fromkeys(graph, width), 5.0)
    places = [layout.centres[spot] for spot in layout.layers[0]]
    assert all(after - before >= width + 5 - 1e-9 for before, after in pairwise(places))


def test_arrows_that_need_not_cross_do_not() -> None:
    graph = {"a": {"z"}, "b": {"x"}, "x": set(), "z": set()}
    layout = lay_out(graph, dict.fromkeys(graph, 10.0), 5.0)
    upper, lower = ([spot.name for spot in layer] for layer in reversed(layout.layers))
    assert (upper == ["a", "b"]) == (lower == ["z", "x"])


def test_the_same_graph_is_laid_out_in_the_same_way_whatever_the_order_of_its_nodes() -> None:
    turned = dict(reversed(DIAMOND.items()))
    widths = dict.fromkeys(DIAMOND, 10.0)
    assert lay_out(turned, widths, 5.0).centres == lay_out(DIAMOND, widths, 5.0).centres
