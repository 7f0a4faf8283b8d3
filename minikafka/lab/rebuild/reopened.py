"""Workloads for rungs, in which a log is reopened after a kill or a clean stop and its files are damaged in between."""

FIVE_SEGMENTS = "config internal.segment.bytes=300 index.interval.bytes=60\n" + "append_as_leader [2x10]\n" * 14
"""They begin at 0, 6, 12, 18 and 24; each batch has 95 bytes."""


def reopened_after(*damages: str, clean: bool = False, before: str = FIVE_SEGMENTS) -> str:
    """Lines of a workload: a reopening after each of the damages."""
    reopened = "".join(f"reopen clean={str(clean).lower()} damage={each}\nread start\n" for each in damages)
    return f"{before}{reopened}append_as_leader [1x10]\n"


def drawn(*damages: str, **knobs):
    """Workloads in which the log is reopened often, mostly after a kill, with these damages."""
    knobs = {"unclean": True, "refused": 0.0, "damages": damages, **knobs}
    return (
        {**knobs, "weights": {"reopen": 10, "checkpoint": 6}},
        {**knobs, "epochs": True, "weights": {"reopen": 10, "epochs": 8, "flush": 6}},
        {**knobs, "producers": 2, "transactions": True, "weights": {"reopen": 10}},
    )
