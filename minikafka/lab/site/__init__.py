"""The course as a static site: pages that need no kernel, no server and nothing from elsewhere (`make site`).

Read `recorded_run` first: a lesson is run as a learner would run it, and what its players, predictions and exercises
hold is recorded beside the outputs. `page` turns such a run into one HTML file whose sliders move and whose predictions
can be answered, and a text that does not run into a page without them; `texts` says which texts stand beside the
lessons. `search_entries` makes what the search looks through, and `build` writes the whole folder, which
`own_folder` replaces only if it was made here. `site.js` is the only script, `site.css` the only style beside the one
that all pictures share.
"""
