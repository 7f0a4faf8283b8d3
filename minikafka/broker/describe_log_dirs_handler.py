"""DescribeLogDirs, key 35, versions 1–5: what lies in a broker's log directories.

What Kafka does:

- The right to DESCRIBE the cluster is needed; without it the answer is empty, from version 3 on with an error.
- Each directory comes with its logs: size, and how far each is behind. One that has failed gets KAFKA_STORAGE_ERROR.

Versions: 2 has tagged fields, 3 an error of the whole answer, 4 the size and the free space of a directory, 5 whether
it is cordoned, that is, gets no new partitions.
"""

import logging
import os
from collections.abc import Container
from pathlib import Path

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.common.error_codes import Errors
from minikafka.common.errors import KafkaException, KafkaStorageException
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.messages.apis import DescribeLogDirsRequest, DescribeLogDirsResponse
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.server.replica_manager import ReplicaManager

logger = logging.getLogger(__name__)

INVALID_OFFSET_LAG = -1
Result = DescribeLogDirsResponse.DescribeLogDirsResult
ResultTopic = Result.DescribeLogDirsTopic
ResultPartition = ResultTopic.DescribeLogDirsPartition


class DescribeLogDirsHandler:
    """Answers DescribeLogDirs: each directory with its logs, their sizes, and how far they are behind.

    Topics and partitions are sorted, which in Kafka come in the order of hash maps.
    Kafka: `KafkaApis.handleDescribeLogDirsRequest`, `ReplicaManager.describeLogDirs`.
    """

    def __init__(self, replica_manager: ReplicaManager, auth_helper: AuthHelper, request_channel: RequestChannel):
        self._replica_manager = replica_manager
        self._auth_helper = auth_helper
        self._request_channel = request_channel

    def handle_describe_log_dirs_request(self, request: Request) -> None:
        """Answer for all logs, or those that were asked for. Kafka: `KafkaApis.handleDescribeLogDirsRequest`."""
        body, response = request.body_of(DescribeLogDirsRequest), DescribeLogDirsResponse()
        if not self._auth_helper.authorize(request, AclOperation.DESCRIBE, ResourceType.CLUSTER):
            response.error_code = Errors.CLUSTER_AUTHORIZATION_FAILED
        elif body.topics is None:
            every_log = self._replica_manager.log_manager.all_logs
            response.results = self._describe_log_dirs({log.topic_partition for log in every_log})
        else:
            asked = {TopicPartition(topic.topic, index) for topic in body.topics for index in topic.partitions}
            response.results = self._describe_log_dirs(asked)
        self._request_channel.send_response(request, response)

    def _describe_log_dirs(self, partitions: Container[TopicPartition]) -> list[Result]:
        """Kafka: `ReplicaManager.describeLogDirs`."""
        results = []
        for log_dir in dict.fromkeys(self._replica_manager.log_manager.log_dirs.log_dirs):
            try:
                results.append(self._describe_log_dir(log_dir, partitions))
            except (KafkaException, OSError) as error:
                logger.warning("Unable to describe replica dirs for %s", log_dir, exc_info=True)
                results.append(Result(log_dir=str(log_dir), error_code=Errors.for_exception(error)))
        return results

    def _describe_log_dir(self, log_dir: Path, partitions: Container[TopicPartition]) -> Result:
        log_manager = self._replica_manager.log_manager
        if not log_manager.log_dirs.is_log_dir_online(log_dir):
            raise KafkaStorageException(f"Log directory {log_dir} is offline")
        space = os.statvfs(log_dir)
        by_topic: dict[str, list[ResultPartition]] = {}
        wanted = [
            log for log in log_manager.all_logs if log.parent_dir == log_dir and log.topic_partition in partitions
        ]
        for log in sorted(wanted, key=lambda each: each.topic_partition):
            by_topic.setdefault(log.topic_partition.topic, []).append(self._describe_log(log))
        return Result(
            log_dir=str(log_dir),
            topics=[ResultTopic(name=name, partitions=described) for name, described in by_topic.items()],
            total_bytes=space.f_blocks * space.f_frsize,
            usable_bytes=space.f_bavail * space.f_frsize,
            is_cordoned=log_dir in log_manager.log_dirs.cordoned_log_dirs,
        )

    def _describe_log(self, log: Log) -> ResultPartition:
        return ResultPartition(
            partition_index=log.topic_partition.partition,
            partition_size=log.size,
            offset_lag=self._log_end_offset_lag(log),
            is_future_key=log.is_future,
        )

    def _log_end_offset_lag(self, log: Log) -> int:
        """How far a log is behind: a follower's behind the high watermark, a future one behind the current one.

        Kafka: `ReplicaManager.getLogEndOffsetLag`.
        """
        current = self._replica_manager.local_log(log.topic_partition)
        if current is None:
            return INVALID_OFFSET_LAG
        if log.is_future:
            return current.log_end_offset - log.log_end_offset
        return max(current.high_watermark - log.log_end_offset, 0)
