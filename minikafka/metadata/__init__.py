"""What a broker knows of the whole cluster, and the small controller that decides it.

The cluster's state is a log of records: a controller appends them, and every broker replays them into an image of
topics, partitions, brokers and settings. Two brokers that have replayed the same records hold the same image.
"""
