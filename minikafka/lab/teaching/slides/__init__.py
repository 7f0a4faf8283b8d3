"""Ten slides a lesson, made of the lesson's own text, pictures and predictions (`make slides`).

In reading order:

- `plan`: which ten things a deck shows, and the short lines beside them, from `slides.toml` in the lesson's folder;
- `deck`: a plan and a notebook become ten slides;
- `page`: a deck as one HTML file;
- `build`: the folder of all decks.
"""
