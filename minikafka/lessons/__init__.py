"""The lessons: a folder each, with all of a lesson that is written by hand. No list names them: a lesson comes with its
folder, and goes with it (`minikafka.lab.lesson_folders`).

In the folder, of which only the text must be there:

- `03-high-watermark.py`: the text, with `# %%` cells; its name gives the number and the name of the notebook;
- `03-high-watermark.solutions.py`, `03-high-watermark.zh.py`: the notebook of its solutions, the lesson in Chinese;
- `predictions.py`: wrong answers to the text's predictions, and what one must believe to give them; `BELIEFS` has them
  by the prediction's id, with which its call of `predict` begins: one to four words that say what is asked, not what is
  answered, and that no other prediction of the course has. Translations use the same ids;
- `exercises/`: a module for each function to write: cases, judge, wrong beliefs; `EXERCISES` has them in order;
- `solutions.py`: one way to solve each exercise;
- `rungs.py`: methods of the engine to write anew, each with one way to do it; `LADDER` has them in order;
- `slides.toml`: the plan of its ten slides;
- modules of other names: what the text uses and no other lesson does: stages, widgets.

What is built from it lies in `notebooks/`, `teaching/` and `site/`. What lessons share is `minikafka.lab`, which never
imports them by name.
"""
