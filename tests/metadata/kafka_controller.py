"""Kafka's own controller without its quorum: what decides about brokers, topics, settings, leaders and ISRs.

Kafka's control managers return records and have them replayed; here they are replayed at once, and kept as text. Most
of what is called is not public, so it is called by reflection.
"""

from minikafka.common.error_codes import Errors
from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.messages.apis import AlterPartitionRequest
from minikafka.metadata.features_image import ELIGIBLE_LEADER_REPLICAS_VERSION
from minikafka.metadata.partition_change_builder import Election

_CONTROLLER = "org.apache.kafka.controller"
_MESSAGES = "org.apache.kafka.common.message"
_FAR = 2**63 - 1  # the latest epoch of a timeline; an offset that every broker has read up to


class KafkaController:
    """The twin of `minikafka.metadata.controller.Controller`, with the same methods as far as a test needs them.

    New topics have three replicas if nothing else is said, which is what Kafka's classes do by themselves.
    `messages` has each record, `written` its bytes. Results are the names of errors, and what they say.
    """

    def __init__(self, kafka: KafkaJvm, seed: int, settings: dict[str, str], eligible_leader_replicas_version: int):
        self.kafka = kafka
        self.written: list[bytes] = []
        self.messages: list = []
        self._serde = kafka.find_class("org.apache.kafka.metadata.MetadataRecordSerde")()
        self._methods: dict[tuple[str, str, int], object] = {}
        java = kafka.find_class
        registry = java("org.apache.kafka.timeline.SnapshotRegistry")(
            java("org.apache.kafka.common.utils.LogContext")()
        )
        quorum_features = java(f"{_CONTROLLER}.QuorumFeatures")
        self._features = self._build(
            "FeatureControlManager",
            SnapshotRegistry=registry,
            QuorumFeatures=quorum_features(0, quorum_features.defaultSupportedFeatureMap(False), [0]),
        )
        version = java("org.apache.kafka.server.common.MetadataVersion").latestProduction()
        self._features.replay(self._feature_level("metadata.version", version.featureLevel()))
        placer = java("org.apache.kafka.metadata.placement.StripedReplicaPlacer")(java("java.util.Random")(seed))
        self._cluster = self._build(
            "ClusterControlManager",
            SnapshotRegistry=registry,
            ClusterId="cluster",
            ReplicaPlacer=placer,
            FeatureControlManager=self._features,
            BrokerShutdownHandler=_ShutdownHandler(self),
        )
        broker_properties = {"process.roles": "controller", "node.id": 3000, "controller.listener.names": "C"}
        broker_properties |= {"listeners": "C://:1", "controller.quorum.voters": "3000@localhost:1", **settings}
        config = java("kafka.server.KafkaConfig").fromProps(self._properties(broker_properties), False)
        self._configuration = self._build(
            "ConfigurationControlManager",
            SnapshotRegistry=registry,
            KafkaConfigSchema=java("kafka.server.KafkaRaftServer").configSchema(),
            Validator=java("kafka.server.ControllerConfigurationValidator")(config),
            StaticConfig=kafka.properties(settings),
            FeatureControl=self._features,
            ExistenceChecker=_ExistenceChecker(self),
        )
        self._replication = self._build(
            "ReplicationControlManager",
            SnapshotRegistry=registry,
            ConfigurationControl=self._configuration,
            ClusterControl=self._cluster,
            FeatureControl=self._features,
            DefaultNumPartitions=int(settings.get("num.partitions", 1)),
        )
        self._producer_ids = self._build(
            "ProducerIdControlManager", SnapshotRegistry=registry, ClusterControlManager=self._cluster
        )
        levels = {ELIGIBLE_LEADER_REPLICAS_VERSION: eligible_leader_replicas_version}
        self._replay(self._first_records(version, levels))
        self._cluster.activate()

    def _feature_level(self, name: str, level: int):
        record = self.kafka.find_class("org.apache.kafka.common.metadata.FeatureLevelRecord")()
        return record.setName(name).setFeatureLevel(level)

    def _first_records(self, version, levels: dict[str, int]) -> list:
        """What an active controller writes to an empty log, without its metadata version and the transaction around."""
        java = self.kafka.find_class
        levels = {
            "metadata.version": version.featureLevel(),
            **{name: level for name, level in levels.items() if level},
        }
        with_version = java("org.apache.kafka.server.common.ApiMessageAndVersion")
        records = [with_version(self._feature_level(name, level), 0) for name, level in levels.items()]
        bootstrap_metadata = java("org.apache.kafka.metadata.bootstrap.BootstrapMetadata")
        bootstrap = bootstrap_metadata.fromRecords(self._list(records), "test")
        least_isr = self.call(self._configuration, "getStaticallyConfiguredMinInsyncReplicas")
        generator = java("java.lang.Class").forName(f"{_CONTROLLER}.ActivationRecordsGenerator")
        (method,) = (each for each in generator.getDeclaredMethods() if each.getName() == "recordsForEmptyLog")
        method.setAccessible(True)
        said = java("java.util.ArrayList")()
        arguments = self._list([_Consumer(said), java("java.lang.Long")("-1"), bootstrap, version, least_isr])
        records = self._list(method.invoke(None, arguments.toArray()).records())
        return [
            record
            for record in records
            if not record.message().getClass().getSimpleName().endswith("TransactionRecord")
            and "metadata.version" not in record.message().toString()
        ]

    # Brokers

    def register_broker(self, broker_id: int, incarnation_id: str, log_dirs: list[str], previous_broker_epoch: int):
        uuid = self.kafka.find_class("org.apache.kafka.common.Uuid")
        request = self._message("BrokerRegistrationRequestData").setBrokerId(broker_id).setClusterId("cluster")
        request.setIncarnationId(uuid.fromString(incarnation_id)).setPreviousBrokerEpoch(previous_broker_epoch)
        request.setLogDirs([uuid.fromString(directory) for directory in log_dirs])
        version = self._features.metadataVersionOrThrow().featureLevel()
        feature = self.kafka.find_class(f"{_MESSAGES}.BrokerRegistrationRequestData").Feature()
        feature.setName("metadata.version").setMinSupportedVersion(version).setMaxSupportedVersion(version)
        features = self.kafka.find_class(f"{_MESSAGES}.BrokerRegistrationRequestData").FeatureCollection()
        features.add(feature)
        elr = self.kafka.find_class(f"{_MESSAGES}.BrokerRegistrationRequestData").Feature()
        features.add(elr.setName("eligible.leader.replicas.version").setMaxSupportedVersion(1))
        request.setFeatures(features)
        finalized = self.call(self._features, "finalizedFeatures", _FAR)
        result = self._cluster.registerBroker(request, len(self.written), finalized, True)
        self._replay(result.records())
        return result.response().epoch()

    def fence_broker(self, broker_id: int) -> None:
        records = self._list()
        self.call(self._replication, "handleBrokerFenced", broker_id, records)
        self.call(self.call(self._cluster, "heartbeatManager"), "fence", broker_id)
        self._replay(records)

    def unfence_broker(self, broker_id: int, broker_epoch: int) -> None:
        self._heartbeat(broker_id, broker_epoch, want_shut_down=False)

    def begin_controlled_shutdown(self, broker_id: int, broker_epoch: int) -> bool:
        reply = self._heartbeat(broker_id, broker_epoch, want_shut_down=True)
        manager = self.call(self._cluster, "heartbeatManager")
        if reply.inControlledShutdown():
            self.call(manager, "maybeUpdateControlledShutdownOffset", broker_id, len(self.written))
        return reply.shouldShutDown()

    def handle_directories_offline(self, broker_id: int, broker_epoch: int, offline_dirs: list[str]) -> None:
        uuid = self.kafka.find_class("org.apache.kafka.common.Uuid")
        directories, records = self._list([uuid.fromString(id) for id in offline_dirs]), self._list()
        self.call(self._replication, "handleDirectoriesOffline", broker_id, broker_epoch, directories, records)
        self._replay(records)

    def unregister_broker(self, broker_id: int) -> None:
        self._replay(self._replication.unregisterBroker(broker_id).records())

    def _heartbeat(self, broker_id: int, broker_epoch: int, want_shut_down: bool):
        manager = self.call(self._cluster, "heartbeatManager")
        for registration in self._list(self.call(self._cluster, "brokerRegistrations").values()):
            self.call(manager, "touch", registration.id(), registration.fenced(), _FAR)
        request = self._message("BrokerHeartbeatRequestData").setBrokerId(broker_id).setBrokerEpoch(broker_epoch)
        request.setCurrentMetadataOffset(_FAR).setWantShutDown(want_shut_down)
        result = self.call(self._replication, "processBrokerHeartbeat", request, 0)
        self._replay(result.records())
        return result.response()

    # Topics and their settings

    def create_topic(self, name, num_partitions, replication_factor, assignments, configs):
        """The error's name and words, the topic's id, and its settings with their sources."""
        request_class = self.kafka.find_class(f"{_MESSAGES}.CreateTopicsRequestData")
        topic = request_class.CreatableTopic().setName(name).setNumPartitions(num_partitions)
        topic.setReplicationFactor(replication_factor)
        for partition, replicas in assignments:
            assignment = request_class.CreatableReplicaAssignment().setPartitionIndex(partition)
            topic.assignments().add(assignment.setBrokerIds(list(replicas)))
        for key, value in configs:
            topic.configs().add(request_class.CreatableTopicConfig().setName(key).setValue(value))
        request = request_class()
        request.topics().add(topic)
        describable = self.kafka.find_class("java.util.HashSet")()
        describable.add(name)
        result = self.call(self._replication, "createTopics", self._context(), request, describable, False)
        (told,) = self._list(result.response().topics())
        self._replay(result.records())
        settings = [(entry.name(), entry.value(), entry.configSource()) for entry in self._list(told.configs())]
        return Errors(told.errorCode()).name, told.errorMessage(), told.topicId().toString(), settings

    def delete_topics(self, topic_ids):
        uuid = self.kafka.find_class("org.apache.kafka.common.Uuid")
        ids = [uuid.fromString(topic_id) for topic_id in topic_ids]
        result = self.call(self._replication, "deleteTopics", self._context(), self._list(ids))
        self._replay(result.records())
        return {id.toString(): _error(error) for id, error in dict(result.response()).items()}

    def create_partitions(self, name, count, assignments):
        """The error's name and words; `assignments` may be None."""
        request_class = self.kafka.find_class(f"{_MESSAGES}.CreatePartitionsRequestData")
        topic = request_class.CreatePartitionsTopic().setName(name).setCount(count)
        topic.setAssignments(None)
        if assignments is not None:
            places = self._list()
            for replicas in assignments:
                places.add(request_class.CreatePartitionsAssignment().setBrokerIds(list(replicas)))
            topic.setAssignments(places)
        result = self.call(self._replication, "createPartitions", self._context(), self._list([topic]))
        self._replay(result.records())
        (told,) = self._list(result.response())
        return Errors(told.errorCode()).name, told.errorMessage()

    def legacy_alter_config(self, type: int, name: str, settings):
        """`settings`: all that the resource is to have."""
        resource = self._config_resource(type, name)
        asked = self.kafka.find_class("java.util.HashMap")()
        asked.put(resource, self.kafka.properties(settings))
        result = self.call(self._configuration, "legacyAlterConfigs", asked, False, False)
        self._replay(result.records())
        return _error(result.response().get(resource))

    def incremental_alter_config(self, type: int, name: str, changes):
        """`changes`: a setting's name, and a pair of an operation's name and an operand."""
        resource = self._config_resource(type, name)
        operations = self.kafka.find_class("java.util.HashMap")()
        entry = self.kafka.find_class("java.util.AbstractMap").SimpleImmutableEntry
        kinds = "org.apache.kafka.clients.admin.AlterConfigOp$OpType"
        of_name = self.kafka.find_class("java.lang.Class").forName(kinds)
        kinds = {kind.toString(): kind for kind in of_name.getEnumConstants()}
        for key, (operation, operand) in changes.items():
            operations.put(key, entry(kinds[operation], operand))
        result = self.call(self._configuration, "incrementalAlterConfig", resource, operations, False, False)
        self._replay(result.records())
        return _error(result.response())

    # Leaders and ISRs

    def alter_partition(self, asked: AlterPartitionRequest):
        """The error of the only proposal in `asked` and, if it is accepted, the partition as it is then."""
        request_class = self.kafka.find_class(f"{_MESSAGES}.AlterPartitionRequestData")
        (topic_data,) = asked.topics
        (data,) = topic_data.partitions
        partition = request_class.PartitionData().setPartitionIndex(data.partition_index)
        partition.setLeaderEpoch(data.leader_epoch).setPartitionEpoch(data.partition_epoch)
        partition.setLeaderRecoveryState(int(data.leader_recovery_state))
        members = self._list()
        for member in data.new_isr_with_epochs:
            state = request_class.BrokerState().setBrokerId(member.broker_id)
            members.add(state.setBrokerEpoch(member.broker_epoch))
        partition.setNewIsrWithEpochs(members)
        topic = request_class.TopicData()
        topic.setTopicId(self.kafka.find_class("org.apache.kafka.common.Uuid").fromString(topic_data.topic_id))
        topic.partitions().add(partition)
        request = request_class().setBrokerId(asked.broker_id).setBrokerEpoch(asked.broker_epoch)
        request.topics().add(topic)
        result = self.call(self._replication, "alterPartition", self._context(), request)
        self._replay(result.records())
        (told,) = self._list(self._list(result.response().topics())[0].partitions())
        error = Errors(told.errorCode()).name
        if error != "NONE":
            return (error,)
        epochs = told.leaderEpoch(), told.partitionEpoch()
        return error, told.leaderId(), tuple(told.isr()), told.leaderRecoveryState(), *epochs

    def elect_leader(self, topic: str, partition: int, election: Election):
        request_class = self.kafka.find_class(f"{_MESSAGES}.ElectLeadersRequestData")
        place = request_class.TopicPartitions().setTopic(topic).setPartitions([partition])
        places = request_class.TopicPartitionsCollection()
        places.add(place)
        request = request_class().setElectionType(0 if election is Election.PREFERRED else 1).setTopicPartitions(places)
        result = self.call(self._replication, "electLeaders", request)
        self._replay(result.records())
        (told,) = self._list(self._list(result.response().replicaElectionResults())[0].partitionResult())
        return Errors(told.errorCode()).name, told.errorMessage()

    def maybe_elect_unclean_leaders(self) -> None:
        self._replay(self.call(self._replication, "maybeElectUncleanLeaders").records())

    def maybe_balance_partition_leaders(self) -> None:
        self._replay(self.call(self._replication, "maybeBalancePartitionLeaders").records())

    def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> tuple[int, int]:
        result = self.call(self._producer_ids, "generateNextProducerId", broker_id, broker_epoch)
        self._replay(result.records())
        return result.response().firstProducerId(), result.response().size()

    # What Java wants

    def _bytes_of(self, record) -> bytes:
        """Kafka: `MetadataRecordSerde.write`."""
        java = self.kafka.find_class
        serde, cache = self._serde, java("org.apache.kafka.common.protocol.ObjectSerializationCache")()
        buffer = java("java.nio.ByteBuffer").allocate(serde.recordSize(record, cache))
        serde.write(record, cache, java("org.apache.kafka.common.protocol.ByteBufferAccessor")(buffer))
        return bytes(buffer.array())

    def _replay(self, records) -> None:
        for record in self._list(records):
            message = record.message()
            kind = message.getClass().getSimpleName()
            self.written.append(self._bytes_of(record))
            self.messages.append(message)
            if kind == "RegisterBrokerRecord":
                self._cluster.replay(message, len(self.written) - 1)
            elif kind in ("BrokerRegistrationChangeRecord", "UnregisterBrokerRecord"):
                self._cluster.replay(message)
            elif kind == "FeatureLevelRecord":
                self._features.replay(message)
            elif kind == "ConfigRecord":
                self._configuration.replay(message)
            elif kind == "ProducerIdsRecord":
                self.call(self._producer_ids, "replay", message)
            else:
                self._replication.replay(message)

    def call(self, target, name: str, *arguments):
        """Calls a method that may not be public."""
        kind = target.getClass()
        key = (kind.getName(), name, len(arguments))
        if key not in self._methods:
            (method,) = (
                method
                for method in kind.getDeclaredMethods()
                if method.getName() == name and method.getParameterCount() == len(arguments)
            )
            method.setAccessible(True)
            self._methods[key] = method
        return self._methods[key].invoke(target, self._list(arguments).toArray())

    def _build(self, name: str, **parts):
        """What the builder inside of `name` makes of these parts."""
        forName = self.kafka.find_class("java.lang.Class").forName
        (constructor,) = forName(f"{_CONTROLLER}.{name}$Builder").getDeclaredConstructors()
        constructor.setAccessible(True)
        builder = constructor.newInstance(self._list().toArray())
        for part, value in parts.items():
            self.call(builder, f"set{part}", value)
        return self.call(builder, "build")

    def _list(self, values=()):
        """A list of Java's, which Python can walk, too; `values` is Python's or any collection of Java's."""
        if not isinstance(values, (tuple, list)):
            return self.kafka.find_class("java.util.ArrayList")(values)
        java = self.kafka.find_class("java.util.ArrayList")()
        for value in values:
            java.add(value)
        return java

    def _message(self, name: str):
        return self.kafka.find_class(f"{_MESSAGES}.{name}")()

    def _properties(self, settings):
        properties = self.kafka.find_class("java.util.Properties")()
        for name, value in settings.items():
            properties.put(name, str(value))
        return properties

    def _config_resource(self, type: int, name: str):
        kinds = self.kafka.find_class("org.apache.kafka.common.config.ConfigResource").Type
        return self.kafka.find_class("org.apache.kafka.common.config.ConfigResource")(kinds.forId(type), name)

    def _context(self):
        header = self._message("RequestHeaderData").setRequestApiVersion(3)
        principal = self.kafka.constant("org.apache.kafka.common.security.auth.KafkaPrincipal", "ANONYMOUS")
        nothing = self.kafka.find_class("java.util.OptionalLong").empty()
        return self.kafka.find_class(f"{_CONTROLLER}.ControllerRequestContext")(header, principal, nothing)


class _Consumer:
    """A `java.util.function.Consumer` that keeps what it is told."""

    def __init__(self, kept):
        self._kept = kept

    def accept(self, value):
        self._kept.add(value)

    class Java:
        implements = ["java.util.function.Consumer"]


class _ShutdownHandler:
    """Says what a broker's new start means for its partitions, as Kafka's controller does."""

    def __init__(self, controller: KafkaController):
        self._controller = controller

    def addRecordsForShutdown(self, broker_id, is_clean_shutdown, records):
        controller = self._controller
        controller.call(controller._replication, "handleBrokerShutdown", broker_id, is_clean_shutdown, records)

    class Java:
        implements = ["org.apache.kafka.controller.ClusterControlManager$BrokerShutdownHandler"]


class _ExistenceChecker:
    """Is a resource there? Kafka's own checker is a part of its QuorumController, which needs a quorum."""

    def __init__(self, controller: KafkaController):
        self._controller = controller

    def accept(self, resource):
        controller = self._controller
        if (
            resource.type().id() == 2
            and controller.call(controller._replication, "getTopicId", resource.name()) is None
        ):
            raise ValueError(f"The topic '{resource.name()}' does not exist.")

    class Java:
        implements = ["java.util.function.Consumer"]


def _error(error) -> tuple[str, str | None]:
    return error.error().name(), error.message()
