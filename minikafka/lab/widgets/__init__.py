"""Pictures with frames. Read `drawing` (how all look) and `player` (the slider) first, then any of the others.

Each widget is a list of frames computed once, a `render` function from a frame to SVG or HTML, and a thin shell.
"""
