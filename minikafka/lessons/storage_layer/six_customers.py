"""What the first part of *Background tasks* shows."""

from minikafka.lab.widgets.log_dir_lanes import LogDirLanes


def six_customers(lanes: LogDirLanes) -> None:
    """Six records, the first four of which are deleted, up to second 20; `lanes` shows it."""
    layer = lanes.layer
    lanes.after("the broker starts", layer.start)
    lanes.after("a log is created", layer.create, "orders-0")
    for three in (("Ann", "Ben", "Cat"), ("Dan", "Eve", "Fay")):
        lanes.after(f"{', '.join(three)} are appended", layer.append, "orders-0", *three)
    lanes.after("DeleteRecords: the log's start moves to 4", layer.delete_records, "orders-0", 4)
    lanes.sleep(20)
