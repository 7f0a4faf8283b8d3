"""A topic that somebody wants, in few words."""

from collections.abc import Iterable, Mapping

from minikafka.messages.apis import CreateTopicsRequest


def creatable_topic(
    name: str,
    num_partitions: int = -1,
    replication_factor: int = -1,
    assignments: Iterable[tuple[int, Iterable[int]]] = (),
    configs: Mapping[str, str | None] | None = None,
) -> CreateTopicsRequest.CreatableTopic:
    """A topic that is to be made, as a request names it.

    Either `num_partitions` and `replication_factor` (−1: the cluster's default), or `assignments`: pairs of a
    partition's number and the broker ids of its replicas, the first of which is to lead.
    """
    make = CreateTopicsRequest.CreatableTopic
    return make(
        name=name,
        num_partitions=num_partitions,
        replication_factor=replication_factor,
        assignments=[
            make.CreatableReplicaAssignment(partition_index=number, broker_ids=list(replicas))
            for number, replicas in assignments
        ],
        configs=[make.CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
    )
