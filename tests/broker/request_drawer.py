"""Draws requests of all the APIs whose answers follow from what two sides have been told alike."""

import random

from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_bytes, request_class
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.witness.replicas.scripted_controller import fixed_id
from tests.broker.both_sides import START_MS, TOPICS
from tests.broker.drawn_admin_requests import MAKERS, VERSIONS

UNKNOWN_TOPICS = ("missing", "not/legal", "x" * 250, "")
UNKNOWN_ID = fixed_id("nothing", 9)


class RequestDrawer:
    """Draws requests about topics that are there, and some that are not."""

    def __init__(self, seed, ids):
        self.draw = random.Random(seed)
        self.ids = ids
        self.start_ms = START_MS

    def request(self, *apis):
        """A request of one of `apis`, of any if none are named."""
        api = self.draw.choice(apis or (ApiKeys.PRODUCE,) * 4 + tuple(self.MAKERS))
        version = self.draw.randint(*VERSIONS.get(api, api.stable_versions))
        body = self.MAKERS[api](self, version)
        client_id = self.draw.choice(("c", "c", "", "__admin_client"))
        return request_bytes(api, version, body, correlation_id=self.draw.getrandbits(31), client_id=client_id)

    def topics(self):
        known = self.draw.sample(list(TOPICS), self.draw.randint(0, len(TOPICS)))
        if self.draw.random() < 0.3:
            known.insert(self.draw.randint(0, len(known)), self.draw.choice(UNKNOWN_TOPICS))
        return known

    def indexes(self):
        return [self.draw.choice((0, 0, 0, 1, 2, 7, -1)) for _ in range(self.draw.choice((0, 1, 1, 2, 3)))]

    def named(self, name, by_id):
        return {"topic_id": self.ids.get(name, UNKNOWN_ID)} if by_id else {}

    def records(self):
        draw = self.draw
        compression = draw.choice((CompressionType.NONE,) * 4 + (CompressionType.ZSTD, CompressionType.GZIP))
        records = [SimpleRecord(self.start_ms, None, b"v" * draw.randrange(20)) for _ in range(draw.randint(1, 3))]
        if draw.random() < 0.2:
            arguments = (compression, draw.randrange(2), 0, draw.choice((0, 3)), *records)
            data = bytes(MemoryRecords.with_idempotent_records(*arguments).buffer)
        else:
            data = bytes(MemoryRecords.with_records(compression, *records, initial_offset=0).buffer)
        match draw.randrange(16):
            case 0:
                return b""
            case 1:
                return data + data
            case 2:
                return data[:16] + b"\1" + data[17:]  # an old format
            case 3:
                return data[:-1]
            case 4:
                return data[:40] + b"\xff" + data[41:]  # the checksum is wrong
        return data

    def produce(self, version):
        make = request_class(ApiKeys.PRODUCE)
        topic, partition = make.TopicProduceData, make.TopicProduceData.PartitionProduceData
        body = make(acks=self.draw.choice((1, 1, 1, 0, -1, 2)), timeout_ms=self.draw.choice((0, 5, 30)))
        for name in self.topics():
            data = [partition(index=index, records=self.records()) for index in self.indexes()]
            names = self.named(name, version >= 13) or {"name": name}
            body.topic_data.append(topic(partition_data=data, **names))
        return body

    def fetch(self, version):
        draw, make = self.draw, request_class(ApiKeys.FETCH)
        topic, partition = make.FetchTopic, make.FetchTopic.FetchPartition
        body = make(
            max_wait_ms=draw.choice((0, 0, 10)),
            min_bytes=draw.choice((0, 1, 500)),
            isolation_level=draw.choice((0, 1)),
            rack_id="" if version < 11 else draw.choice(("", "r")),
        )
        if version >= 3:
            body.max_bytes = draw.choice((1, 200, 1 << 20))
        if version >= 7:
            body.session_epoch = draw.choice((-1, -1, 0, 3))
            body.session_id = draw.choice((0, 0, 8))
        replica = draw.choice((-1, -1, -1, 1, 5))
        if version >= 15:
            body.replica_state = make.ReplicaState(replica_id=replica, replica_epoch=draw.choice((-1, 21, 20)))
        else:
            body.replica_id = replica
        for name in self.topics():
            asked = [
                partition(
                    partition=index,
                    fetch_offset=draw.choice((0, 0, 1, 2, 5, 100, -1)),
                    partition_max_bytes=draw.choice((1, 100, 1 << 20)),
                    current_leader_epoch=draw.choice((-1, -1, 0, 1)),
                    last_fetched_epoch=draw.choice((-1, 0, 1)) if version >= 12 else -1,
                )
                for index in self.indexes()
            ]
            names = self.named(name, version >= 13) or {"topic": name}
            body.topics.append(topic(partitions=asked, **names))
        return body

    def list_offsets(self, version):
        draw, make = self.draw, request_class(ApiKeys.LIST_OFFSETS)
        topic, partition = make.ListOffsetsTopic, make.ListOffsetsTopic.ListOffsetsPartition
        body = make(replica_id=draw.choice((-1, -1, -2, 1)), isolation_level=draw.choice((0, 1)) if version >= 2 else 0)
        for name in self.topics():
            asked = [
                partition(
                    partition_index=index,
                    timestamp=draw.choice((-1, -2, -3, -4, -5, -6, -7, 0, self.start_ms, self.start_ms + 1)),
                    current_leader_epoch=draw.choice((-1, -1, 0, 1)),
                )
                for index in self.indexes()
            ]
            body.topics.append(topic(name=name, partitions=asked))
        return body

    def metadata(self, version):
        draw, make = self.draw, request_class(ApiKeys.METADATA)
        body = make(topics=[])
        if version >= 4:
            body.allow_auto_topic_creation = draw.random() < 0.5
        if version >= 8:
            body.include_topic_authorized_operations = draw.random() < 0.5
        if 8 <= version <= 10:
            body.include_cluster_authorized_operations = draw.random() < 0.5
        if version >= 1 and draw.random() < 0.15:
            body.topics = None
            return body
        by_id = version >= 10 and draw.random() < 0.4
        for name in self.topics()[: 4 if by_id else 9]:
            names = {"topic_id": self.ids.get(name, UNKNOWN_ID)} if by_id else {}
            names["name"] = None if by_id and draw.random() < 0.9 else name
            body.topics.append(make.MetadataRequestTopic(**names))
        return body

    def delete_records(self, version):
        draw, make = self.draw, request_class(ApiKeys.DELETE_RECORDS)
        topic = make.DeleteRecordsTopic
        body = make(timeout_ms=draw.choice((0, 10)))
        for name in self.topics():
            asked = [
                topic.DeleteRecordsPartition(partition_index=index, offset=draw.choice((0, 1, 2, -1, -2, 1000)))
                for index in self.indexes()
            ]
            body.topics.append(topic(name=name, partitions=asked))
        return body

    def offset_for_leader_epoch(self, version):
        draw, make = self.draw, request_class(ApiKeys.OFFSET_FOR_LEADER_EPOCH)
        topic = make.OffsetForLeaderTopic
        body = make()
        for name in self.topics():
            asked = [
                topic.OffsetForLeaderPartition(
                    partition=index, current_leader_epoch=draw.choice((-1, 0, 1)), leader_epoch=draw.choice((-1, 0, 1))
                )
                for index in self.indexes()
            ]
            body.topics.append(topic(topic=name, partitions=asked))
        return body

    MAKERS = {
        ApiKeys.PRODUCE: produce,
        ApiKeys.FETCH: fetch,
        ApiKeys.LIST_OFFSETS: list_offsets,
        ApiKeys.METADATA: metadata,
        ApiKeys.DELETE_RECORDS: delete_records,
        ApiKeys.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch,
        **MAKERS,
    }
