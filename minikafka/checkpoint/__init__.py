"""Small files beside the segments: offset checkpoints, leader epochs, topic id, clean-shutdown marker."""
