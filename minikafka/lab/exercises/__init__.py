"""The exercises of the lessons, one module a lesson: their cases, their judge, the wrong beliefs that are recognised."""
