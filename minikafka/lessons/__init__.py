"""The lessons: a folder each, with all of a lesson that is written by hand. The code has no list of them: a lesson
comes with its folder, and goes with it (`minikafka.lab.lesson_folders`). For readers they are listed in lesson 00 and
in `teaching/guide.md`.

A lesson that would have more than 1,800 words or 60 cells to read is two folders, whose texts are numbered 04a and 04b.

A text and `__init__.py` are enough to build a notebook, which the map of the progress, `grade` and the site then know.
A lesson that lands has these, too (`tests/lessons` and `tests/notebooks` ask for them); those in brackets may be
absent:

- `03-high-watermark.py`: the text to read, with `# %%` cells; its name gives the number and the name of the notebook;
- `03-high-watermark-rebuild.py`: the text of its exercises and rungs, for a notebook beside it, with its own kernel;
- `03-high-watermark-rebuild.solutions.py`: the notebook of their solutions; [`03-high-watermark.zh.py` and
  `03-high-watermark-rebuild.zh.py`: the lesson in Chinese, and `zh.py`, what the lab says in it, by the English text];
- `predictions.py`: wrong answers to the text's predictions, and what one must believe to give them; `BELIEFS` has them
  by the prediction's id, with which its call of `predict` begins: one to four words that say what is asked, not what is
  answered, and that no other prediction of the course has. Translations use the same ids;
- [`earlier_questions.json`: questions that predictions had in other words before they had ids, each with the id;]
- `exercises/`: a module for each function to write: cases, judge, wrong beliefs; `EXERCISES` has them in order;
- `exercise_answers.json`: what Spark answers to the cases of the exercises, as `record_exercises.py` has recorded it;
- `solutions.py`: one way to solve each exercise;
- `rungs.py`: methods of the engine to write anew, each with one way to do it; `LADDER` has them in order;
- `planted_bugs.py`: what part 5 plants into minikafka; `bugs()` has them by their words;
- `quiz.py`: what the quiz asks; each question names a section of part 4; `QUESTIONS` has them in order;
- `invariants.toml`: for each rule of part 3, its group on the sheet of invariants and the method of Kafka that keeps
  it;
- `plan.md`: how to teach it in 90 minutes, the upper half of its page for teachers;
- `slides.toml`: the plan of its ten slides (`minikafka.lab.teaching.slides.plan` says what each is for);
- [modules of other names: what the text uses and no other lesson does: stages, widgets].

What is built from it lies in `notebooks/`, `teaching/` and `site/`. What lessons share is `minikafka.lab`, which never
imports them by name.
"""
