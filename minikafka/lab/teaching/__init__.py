"""The pages below `teaching/`: for who teaches the course. `make teaching` writes what is made of sources.

In reading order:

- `lesson_parts`: what a lesson's notebook says, part by part;
- `known_answers`: what its predictions come to, kept in a file;
- `answers_page`: the answers below a lesson's plan;
- `invariants`: the sheet;
- `quiz`: questions that minikafka answers;
- `build`;
- `slides`: ten for each lesson (`make slides`).
"""
