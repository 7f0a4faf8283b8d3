"""All partitions of a broker behind one door, requests that must wait, and followers that copy from their leaders."""
