"""The languages of the course: how one is chosen (`chosen`), and a catalogue for each but English (`zh` is Chinese).

What is not a lesson's own text passes through `say` of `minikafka.witness.spoken`; a catalogue has each such text once.
A lesson in another language has its own text beside the English one, with the same code (`03-high-watermark.zh.py`).
"""
