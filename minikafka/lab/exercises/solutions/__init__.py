"""One way to solve each exercise, a module for each lesson; the notebooks of solutions are built from these."""
