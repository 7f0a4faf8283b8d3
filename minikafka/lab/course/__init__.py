"""The course as files: `lesson_notebooks` lists the notebooks, `build_lessons` makes them, `run_lessons` runs them,
`working_copy` is the learner's, `diagrams` draws the Graphviz sources, `notes` are the boxes in a lesson.
"""
