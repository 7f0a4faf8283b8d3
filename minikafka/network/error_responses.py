"""What a request is answered when it fails as a whole: the error stands where its kind of response has a place for it.

Most responses have one error at the top. Others repeat the request, topic by topic, with the error in each part.
Kafka: `getErrorResponse` of each request's class.
"""

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any, NamedTuple, TypeAlias, TypeVar

from minikafka.common.api_error import ApiError
from minikafka.common.error_codes import Errors
from minikafka.common.errors import NullPointerException
from minikafka.messages import apis
from minikafka.messages.message_codec import Message, message_class, snake_case
from minikafka.messages.message_schema import StructSchema
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import RequestHeader, response_class

T = TypeVar("T", bound=Message)

UNSPECIFIED = -1
_ERROR_FIELDS = ("error_code", "partition_error_code")


def error_response(header: RequestHeader, body: Message, thrown: BaseException) -> Message | None:
    """The response to a request that failed with `thrown`; None if there is nobody to tell, as without acks.

    Kafka: `AbstractRequest.getErrorResponse`.
    """
    if header.api_key in _OF_THEIR_OWN:
        return _OF_THEIR_OWN[header.api_key](header.api_version, body, thrown)
    response: Message = _with_error(response_class(header.api_key), header.api_key, thrown)
    if header.api_key in _REPEATED:
        _repeat(_REPEATED[header.api_key], header.api_key, body, response, thrown)
    return response


class _Message(Enum):
    """What an `error_message` says, where it says anything.

    API_ERROR: as in ApiError. TEXT: the text of the code. OWN: what was thrown says, whatever it is. OWN_OR_TEXT: the
    same, but the text for an unknown error.
    """

    API_ERROR = auto()
    TEXT = auto()
    OWN = auto()
    OWN_OR_TEXT = auto()


_MESSAGES = {
    ApiKeys.ADD_RAFT_VOTER: _Message.TEXT,
    ApiKeys.ALTER_CLIENT_QUOTAS: _Message.TEXT,
    ApiKeys.ALTER_CONFIGS: _Message.API_ERROR,
    ApiKeys.ALTER_PARTITION_REASSIGNMENTS: _Message.API_ERROR,
    ApiKeys.ALTER_SHARE_GROUP_OFFSETS: _Message.TEXT,
    ApiKeys.ALTER_USER_SCRAM_CREDENTIALS: _Message.API_ERROR,
    ApiKeys.CONTROLLER_REGISTRATION: _Message.TEXT,
    ApiKeys.CREATE_ACLS: _Message.API_ERROR,
    ApiKeys.CREATE_PARTITIONS: _Message.API_ERROR,
    ApiKeys.CREATE_TOPICS: _Message.API_ERROR,
    ApiKeys.DELETE_ACLS: _Message.API_ERROR,
    ApiKeys.DELETE_SHARE_GROUP_OFFSETS: _Message.TEXT,
    ApiKeys.DESCRIBE_ACLS: _Message.API_ERROR,
    ApiKeys.DESCRIBE_CLIENT_QUOTAS: _Message.API_ERROR,
    ApiKeys.DESCRIBE_CLUSTER: _Message.API_ERROR,
    ApiKeys.DESCRIBE_CONFIGS: _Message.TEXT,
    ApiKeys.DESCRIBE_QUORUM: _Message.TEXT,
    ApiKeys.DESCRIBE_SHARE_GROUP_OFFSETS: _Message.OWN_OR_TEXT,
    ApiKeys.DESCRIBE_USER_SCRAM_CREDENTIALS: _Message.API_ERROR,
    ApiKeys.ELECT_LEADERS: _Message.API_ERROR,
    ApiKeys.FIND_COORDINATOR: _Message.TEXT,
    ApiKeys.INCREMENTAL_ALTER_CONFIGS: _Message.API_ERROR,
    ApiKeys.LIST_PARTITION_REASSIGNMENTS: _Message.API_ERROR,
    ApiKeys.PRODUCE: _Message.API_ERROR,
    ApiKeys.READ_SHARE_GROUP_STATE: _Message.TEXT,
    ApiKeys.READ_SHARE_GROUP_STATE_SUMMARY: _Message.TEXT,
    ApiKeys.REMOVE_RAFT_VOTER: _Message.TEXT,
    ApiKeys.SASL_AUTHENTICATE: _Message.API_ERROR,
    ApiKeys.UNREGISTER_BROKER: _Message.OWN,
    ApiKeys.UPDATE_FEATURES: _Message.API_ERROR,
    ApiKeys.WRITE_SHARE_GROUP_STATE: _Message.TEXT,
}


class _Repeated(NamedTuple):
    """A list of a response that has an element for each of a list of the request.

    `copied`: the fields of an element, and those of the request that they repeat; "" is the element itself.
    """

    into: str
    of: str
    copied: Mapping[str, str]
    inner: "_Repeated | None" = None


def _by_topic(
    copied: Mapping[str, str], partition: str, *, into: str = "topics", of: str = "partitions", index: str = ""
) -> _Repeated:
    """Topics, and in each its partitions, which the request names alone (`index` "") or in structures."""
    return _Repeated(into, "topics", copied, _Repeated("partitions", of, {partition: index}))


_NAME = {"name": "name"}
_GROUPS = _Repeated("groups", "group_ids", {"group_id": ""})
_RESOURCE = {"resource_type": "resource_type", "resource_name": "resource_name"}
_SHARE_STATE = _by_topic({"topic_id": "topic_id"}, "partition", into="results", index="partition")

_REPEATED = {
    ApiKeys.ALTER_CLIENT_QUOTAS: _Repeated(
        "entries",
        "entries",
        {},
        _Repeated("entity", "entity", {"entity_type": "entity_type", "entity_name": "entity_name"}),
    ),
    ApiKeys.ALTER_CONFIGS: _Repeated("responses", "resources", _RESOURCE),
    ApiKeys.ALTER_PARTITION_REASSIGNMENTS: _by_topic(
        _NAME, "partition_index", into="responses", index="partition_index"
    ),
    ApiKeys.CONSUMER_GROUP_DESCRIBE: _GROUPS,
    ApiKeys.CREATE_ACLS: _Repeated("results", "creations", {}),
    ApiKeys.CREATE_PARTITIONS: _Repeated("results", "topics", _NAME),
    ApiKeys.CREATE_TOPICS: _Repeated("topics", "topics", _NAME),
    ApiKeys.DELETE_ACLS: _Repeated("filter_results", "filters", {}),
    ApiKeys.DELETE_GROUPS: _Repeated("results", "groups_names", {"group_id": ""}),
    ApiKeys.DELETE_SHARE_GROUP_STATE: _SHARE_STATE,
    ApiKeys.DESCRIBE_CONFIGS: _Repeated("results", "resources", _RESOURCE),
    ApiKeys.DESCRIBE_GROUPS: _Repeated("groups", "groups", {"group_id": ""}),
    ApiKeys.DESCRIBE_PRODUCERS: _by_topic(_NAME, "partition_index", of="partition_indexes"),
    ApiKeys.DESCRIBE_SHARE_GROUP_OFFSETS: _Repeated("groups", "groups", {"group_id": "group_id"}),
    ApiKeys.DESCRIBE_TOPIC_PARTITIONS: _Repeated("topics", "topics", _NAME),
    ApiKeys.DESCRIBE_TRANSACTIONS: _Repeated("transaction_states", "transactional_ids", {"transactional_id": ""}),
    ApiKeys.DESCRIBE_USER_SCRAM_CREDENTIALS: _Repeated("results", "users", {}),
    ApiKeys.INCREMENTAL_ALTER_CONFIGS: _Repeated("responses", "resources", _RESOURCE),
    ApiKeys.INITIALIZE_SHARE_GROUP_STATE: _SHARE_STATE,
    ApiKeys.LIST_OFFSETS: _by_topic(_NAME, "partition_index", index="partition_index"),
    ApiKeys.LIST_PARTITION_REASSIGNMENTS: _by_topic(_NAME, "partition_index", of="partition_indexes"),
    ApiKeys.OFFSET_COMMIT: _by_topic({"topic_id": "topic_id", **_NAME}, "partition_index", index="partition_index"),
    ApiKeys.OFFSET_FOR_LEADER_EPOCH: _by_topic({"topic": "topic"}, "partition", index="partition"),
    ApiKeys.READ_SHARE_GROUP_STATE: _SHARE_STATE,
    ApiKeys.READ_SHARE_GROUP_STATE_SUMMARY: _SHARE_STATE,
    ApiKeys.SHARE_GROUP_DESCRIBE: _GROUPS,
    ApiKeys.STREAMS_GROUP_DESCRIBE: _GROUPS,
    ApiKeys.TXN_OFFSET_COMMIT: _by_topic(_NAME, "partition_index", index="partition_index"),
    ApiKeys.WRITE_SHARE_GROUP_STATE: _SHARE_STATE,
}


def _repeat(shape: _Repeated, api_key: ApiKeys, body: object, response: Message, thrown: BaseException) -> None:
    make = _element_class(response, shape.into)
    elements = getattr(response, shape.into)
    for asked in getattr(body, shape.of) or ():
        element = _with_error(make, api_key, thrown)
        for field, source in shape.copied.items():
            setattr(element, field, getattr(asked, source) if source else asked)
        if shape.inner is not None:
            _repeat(shape.inner, api_key, asked, element, thrown)
        elements.append(element)


def _element_class(message: Message, field_name: str) -> type[Message]:
    """The class of the elements of a list."""
    field = next(field for field in message.schema.fields if field_name == snake_case(field.name))
    assert isinstance(field.type, StructSchema)
    element: type[Message] = message_class(field.type)
    return element


def _with_error(make: type[T], api_key: ApiKeys, thrown: BaseException) -> T:
    """A response, or a part of one, with the error in the field that it has for it, if there is one."""
    message = make()
    for name in _ERROR_FIELDS:
        if hasattr(message, name):
            setattr(message, name, Errors.for_exception(thrown))
    if hasattr(message, "error_message") and api_key in _MESSAGES:
        message.error_message = _message(api_key, thrown)
    return message


def _message(api_key: ApiKeys, thrown: BaseException) -> str | None:
    kind, error = _MESSAGES[api_key], Errors.for_exception(thrown)
    if kind is _Message.API_ERROR:
        return ApiError.from_exception(thrown).message
    if kind is _Message.TEXT or (kind is _Message.OWN_OR_TEXT and error is Errors.UNKNOWN_SERVER_ERROR):
        return error.message
    return str(thrown)


# Responses that fit no pattern.


def _produce(version: int, body: "apis.ProduceRequest", thrown: BaseException) -> "apis.ProduceResponse | None":
    """Without acks nobody waits for an answer. A partition that is asked about twice is answered once.

    Raises NullPointerException for one without records: such a request is not answered at all.
    """
    if body.acks == 0:
        return None
    asked: dict[tuple[str, str], dict[int, None]] = {}
    for topic in body.topic_data:
        for partition in topic.partition_data:
            if partition.records is None:
                raise NullPointerException(f"{topic.name}-{partition.index} without records")
            asked.setdefault((topic.name, topic.topic_id), {})[partition.index] = None
    response = apis.ProduceResponse()
    for (name, topic_id), indexes in asked.items():
        parts = []
        for index in indexes:
            part = _with_error(response.TopicProduceResponse.PartitionProduceResponse, ApiKeys.PRODUCE, thrown)
            part.index, part.base_offset = index, UNSPECIFIED
            parts.append(part)
        response.responses.append(
            response.TopicProduceResponse(name=name, topic_id=topic_id, partition_responses=parts)
        )
    return response


def _fetch(version: int, body: "apis.FetchRequest", thrown: BaseException) -> "apis.FetchResponse":
    """Before version 13 readers look for the error in the partitions."""
    response = _with_error(apis.FetchResponse, ApiKeys.FETCH, thrown)
    response.session_id = body.session_id
    if version < 13:
        response.responses = error_in_each_partition(body, Errors.for_exception(thrown))
    return response


def error_in_each_partition(
    body: "apis.FetchRequest", error: Errors
) -> "list[apis.FetchResponse.FetchableTopicResponse]":
    """The error in the place of each partition that a fetch request names."""
    return [
        apis.FetchResponse.FetchableTopicResponse(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partitions=[fetch_partition_response(partition.partition, error) for partition in topic.partitions],
        )
        for topic in body.topics
    ]


def fetch_partition_response(
    partition: int, error: Errors
) -> "apis.FetchResponse.FetchableTopicResponse.PartitionData":
    """A partition of a fetch response that has nothing but an error. Kafka: `FetchResponse.partitionResponse`."""
    make = apis.FetchResponse.FetchableTopicResponse.PartitionData
    return make(partition_index=partition, error_code=error, high_watermark=UNSPECIFIED, records=b"")


def _metadata(version: int, body: "apis.MetadataRequest", thrown: BaseException) -> "apis.MetadataResponse":
    response = _with_error(apis.MetadataResponse, ApiKeys.METADATA, thrown)
    for asked in body.topics or ():
        topic = _with_error(response.MetadataResponseTopic, ApiKeys.METADATA, thrown)
        topic.name, topic.topic_id = asked.name or "", asked.topic_id
        response.topics.append(topic)
    return response


def _api_versions(version: int, body: "apis.ApiVersionsRequest", thrown: BaseException) -> "apis.ApiVersionsResponse":
    """Who asks in an unknown version is told which ones are known."""
    response = _with_error(apis.ApiVersionsResponse, ApiKeys.API_VERSIONS, thrown)
    if response.error_code is Errors.UNSUPPORTED_VERSION:
        lowest, highest = ApiKeys.API_VERSIONS.versions
        own = response.ApiVersion(api_key=ApiKeys.API_VERSIONS, min_version=lowest, max_version=highest)
        response.api_keys.append(own)
    return response


def _delete_records(
    version: int, body: "apis.DeleteRecordsRequest", thrown: BaseException
) -> "apis.DeleteRecordsResponse":
    response = apis.DeleteRecordsResponse()
    shape = _by_topic(_NAME, "partition_index", index="partition_index")
    _repeat(shape, ApiKeys.DELETE_RECORDS, body, response, thrown)
    for topic in response.topics:
        for partition in topic.partitions:
            partition.low_watermark = UNSPECIFIED
    return response


def _delete_topics(
    version: int, body: "apis.DeleteTopicsRequest", thrown: BaseException
) -> "apis.DeleteTopicsResponse":
    response = apis.DeleteTopicsResponse()
    by_name = _Repeated("responses", "topic_names", {"name": ""})
    by_either = _Repeated("responses", "topics", {"name": "name", "topic_id": "topic_id"})
    _repeat(by_either if version >= 6 else by_name, ApiKeys.DELETE_TOPICS, body, response, thrown)
    return response


def _init_producer_id(
    version: int, body: "apis.InitProducerIdRequest", thrown: BaseException
) -> "apis.InitProducerIdResponse":
    response = _with_error(apis.InitProducerIdResponse, ApiKeys.INIT_PRODUCER_ID, thrown)
    response.producer_id = response.producer_epoch = UNSPECIFIED
    return response


def _find_coordinator(
    version: int, body: "apis.FindCoordinatorRequest", thrown: BaseException
) -> "apis.FindCoordinatorResponse":
    response = apis.FindCoordinatorResponse()
    if version < 4:
        response = _with_error(apis.FindCoordinatorResponse, ApiKeys.FIND_COORDINATOR, thrown)
        response.node_id = response.port = UNSPECIFIED
        return response
    shape = _Repeated("coordinators", "coordinator_keys", {"key": ""})
    _repeat(shape, ApiKeys.FIND_COORDINATOR, body, response, thrown)
    for coordinator in response.coordinators:
        coordinator.node_id = coordinator.port = UNSPECIFIED
    return response


def _join_group(version: int, body: "apis.JoinGroupRequest", thrown: BaseException) -> "apis.JoinGroupResponse":
    response = _with_error(apis.JoinGroupResponse, ApiKeys.JOIN_GROUP, thrown)
    response.protocol_name = None if version >= 7 else ""
    return response


def _offset_fetch(version: int, body: "apis.OffsetFetchRequest", thrown: BaseException) -> "apis.OffsetFetchResponse":
    """The error stood in each partition, then at the top, and stands with each group."""
    response = apis.OffsetFetchResponse()
    if version < 2:
        shape = _by_topic(_NAME, "partition_index", of="partition_indexes")
        _repeat(shape, ApiKeys.OFFSET_FETCH, body, response, thrown)
        for topic in response.topics:
            for partition in topic.partitions:
                partition.committed_offset = UNSPECIFIED
    elif version < 8:
        return _with_error(apis.OffsetFetchResponse, ApiKeys.OFFSET_FETCH, thrown)
    else:
        shape = _Repeated("groups", "groups", {"group_id": "group_id"})
        _repeat(shape, ApiKeys.OFFSET_FETCH, body, response, thrown)
    return response


def _add_partitions_to_txn(
    version: int, body: "apis.AddPartitionsToTxnRequest", thrown: BaseException
) -> "apis.AddPartitionsToTxnResponse":
    if version >= 4:
        return _with_error(apis.AddPartitionsToTxnResponse, ApiKeys.ADD_PARTITIONS_TO_TXN, thrown)
    response = apis.AddPartitionsToTxnResponse()
    partitions = _Repeated("results_by_partition", "partitions", {"partition_index": ""})
    shape = _Repeated("results_by_topic_v3_and_below", "v3_and_below_topics", _NAME, partitions)
    _repeat(shape, ApiKeys.ADD_PARTITIONS_TO_TXN, body, response, thrown)
    return response


def _write_txn_markers(
    version: int, body: "apis.WriteTxnMarkersRequest", thrown: BaseException
) -> "apis.WriteTxnMarkersResponse":
    """Of a producer's markers the last one counts; a partition that is asked about twice is answered once."""
    response = apis.WriteTxnMarkersResponse()
    make_result = apis.WriteTxnMarkersResponse.WritableTxnMarkerResult
    make_topic = make_result.WritableTxnMarkerTopicResult
    for producer_id, marker in {marker.producer_id: marker for marker in body.markers}.items():
        indexes: dict[str, dict[int, None]] = {}
        for topic in marker.topics:
            indexes.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
        result = make_result(producer_id=producer_id)
        for name, of_topic in indexes.items():
            parts = []
            for index in of_topic:
                part = _with_error(make_topic.WritableTxnMarkerPartitionResult, ApiKeys.WRITE_TXN_MARKERS, thrown)
                part.partition_index = index
                parts.append(part)
            result.topics.append(make_topic(name=name, partitions=parts))
        response.markers.append(result)
    return response


def _alter_replica_log_dirs(
    version: int, body: "apis.AlterReplicaLogDirsRequest", thrown: BaseException
) -> "apis.AlterReplicaLogDirsResponse":
    response = apis.AlterReplicaLogDirsResponse()
    shape = _Repeated(
        "results", "topics", {"topic_name": "name"}, _Repeated("partitions", "partitions", {"partition_index": ""})
    )
    for log_dir in body.dirs:
        _repeat(shape, ApiKeys.ALTER_REPLICA_LOG_DIRS, log_dir, response, thrown)
    return response


def _create_delegation_token(
    version: int, body: "apis.CreateDelegationTokenRequest", thrown: BaseException
) -> "apis.CreateDelegationTokenResponse":
    """The owner, and from version 3 on who asked, is nobody in particular."""
    response = _with_error(apis.CreateDelegationTokenResponse, ApiKeys.CREATE_DELEGATION_TOKEN, thrown)
    response.principal_type, response.principal_name = "User", "ANONYMOUS"
    if version > 2:
        response.token_requester_principal_type, response.token_requester_principal_name = "User", "ANONYMOUS"
    response.issue_timestamp_ms = response.expiry_timestamp_ms = response.max_timestamp_ms = UNSPECIFIED
    return response


def _elect_leaders(
    version: int, body: "apis.ElectLeadersRequest", thrown: BaseException
) -> "apis.ElectLeadersResponse":
    response = apis.ElectLeadersResponse()
    if version >= 1:
        response.error_code = Errors.for_exception(thrown)
    partitions = _Repeated("partition_result", "partitions", {"partition_id": ""})
    shape = _Repeated("replica_election_results", "topic_partitions", {"topic": "topic"}, partitions)
    _repeat(shape, ApiKeys.ELECT_LEADERS, body, response, thrown)
    return response


def _describe_client_quotas(
    version: int, body: "apis.DescribeClientQuotasRequest", thrown: BaseException
) -> "apis.DescribeClientQuotasResponse":
    response = _with_error(apis.DescribeClientQuotasResponse, ApiKeys.DESCRIBE_CLIENT_QUOTAS, thrown)
    response.entries = None
    return response


def _alter_user_scram_credentials(
    version: int, body: "apis.AlterUserScramCredentialsRequest", thrown: BaseException
) -> "apis.AlterUserScramCredentialsResponse":
    """Each user once, in the order of Java's strings."""
    response = apis.AlterUserScramCredentialsResponse()
    users = {change.name for change in body.deletions} | {change.name for change in body.upsertions}
    for user in sorted(users, key=lambda name: name.encode("utf-16-be", "surrogatepass")):
        result = _with_error(response.AlterUserScramCredentialsResult, ApiKeys.ALTER_USER_SCRAM_CREDENTIALS, thrown)
        result.user = user
        response.results.append(result)
    return response


_Special: TypeAlias = Callable[[int, Any, BaseException], Message | None]
_OF_THEIR_OWN: dict[ApiKeys, _Special] = {
    ApiKeys.PRODUCE: _produce,
    ApiKeys.FETCH: _fetch,
    ApiKeys.METADATA: _metadata,
    ApiKeys.API_VERSIONS: _api_versions,
    ApiKeys.DELETE_RECORDS: _delete_records,
    ApiKeys.DELETE_TOPICS: _delete_topics,
    ApiKeys.INIT_PRODUCER_ID: _init_producer_id,
    ApiKeys.FIND_COORDINATOR: _find_coordinator,
    ApiKeys.JOIN_GROUP: _join_group,
    ApiKeys.OFFSET_FETCH: _offset_fetch,
    ApiKeys.ADD_PARTITIONS_TO_TXN: _add_partitions_to_txn,
    ApiKeys.WRITE_TXN_MARKERS: _write_txn_markers,
    ApiKeys.ALTER_REPLICA_LOG_DIRS: _alter_replica_log_dirs,
    ApiKeys.CREATE_DELEGATION_TOKEN: _create_delegation_token,
    ApiKeys.ELECT_LEADERS: _elect_leaders,
    ApiKeys.DESCRIBE_CLIENT_QUOTAS: _describe_client_quotas,
    ApiKeys.ALTER_USER_SCRAM_CREDENTIALS: _alter_user_scram_credentials,
}
