"""Small files beside the segments: offset checkpoints, leader epochs, topic id, clean-shutdown marker.

Read `checkpoint_file` first, which replaces a list of entries as a whole; the others say what the entries are.
"""
