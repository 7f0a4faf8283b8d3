"""The course as files: `build_lessons` makes the notebooks, `run_lessons` runs them, `working_copy` is the learner's,
`diagrams` draws the Graphviz sources, `notes` are the boxes in a lesson.
"""
