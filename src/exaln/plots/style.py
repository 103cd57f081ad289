"""Colours and resolution of plots. What differs by the strand of the target is by strand, 1 and -1."""

PATH_COLOURS = {1: "#d1495b", -1: "#e08e0b"}
AREA_COLOURS = {1: "#f3d2d6", -1: "#f7e3c2"}
DOT_COLOURS = {1: "#30638e", -1: "#8cc59a"}
GAP_COLOUR, PATH_FILL, ARROW_COLOUR = "#8d6a9f", "#fbe3e6", "#a9b4c0"

FINEST = 2000
"""Points along the longer side of the plot, of paths, the identity and gaps."""
