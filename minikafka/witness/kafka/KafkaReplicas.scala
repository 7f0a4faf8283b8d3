// Brokers of Apache Kafka in one JVM: its own KafkaApis, ReplicaManager, Partition, LogManager and follower threads, with
// what would make two runs differ replaced: clock, scheduler and timers stand still until they are told to move, followers
// take a step when they are told to, requests and responses are bytes that no socket carries, and whoever holds a
// KafkaReplicas is the controller. Everything runs in the caller's thread.
//
// Compiled by minikafka.jvm.scala_compiler; driven by minikafka.witness.kafka.kafka_cluster.

package kafka.cluster {
  /** What only this package may ask a Partition. */
  object PartitionAccess {
    def stateOf(partition: Partition): org.apache.kafka.server.partition.PartitionState = partition.partitionState
    def leaderEpochStartOffset(partition: Partition): Option[Long] = partition.leaderEpochStartOffsetOpt
  }
}

package kafka.log {
  /** What only this package may ask a LogManager. */
  object LogManagerAccess {
    def unlock(manager: LogManager): Unit = manager.dirLocks.foreach(_.unlockAndClose())
  }
}

package kafka.server {
  import java.net.InetAddress
  import java.nio.ByteBuffer
  import java.util.{Base64, IdentityHashMap, Optional, Properties}
  import java.util.concurrent.{Delayed, ScheduledFuture, TimeUnit}
  import java.util.function.Supplier

  import scala.collection.immutable.ListMap
  import scala.collection.mutable
  import scala.jdk.CollectionConverters._

  import kafka.cluster.{Partition, PartitionAccess}
  import kafka.log.{LogManager, LogManagerAccess}
  import kafka.network.RequestChannel
  import kafka.server.metadata.DynamicConfigPublisher
  import org.apache.kafka.clients.{ClientResponse, FetchSessionHandler, NodeApiVersions}
  import org.apache.kafka.common.{KafkaException, TopicIdPartition, TopicPartition, Uuid}
  import org.apache.kafka.common.memory.MemoryPool
  import org.apache.kafka.common.message.ApiMessageType
  import org.apache.kafka.common.metadata.FeatureLevelRecord
  import org.apache.kafka.common.metrics.Metrics
  import org.apache.kafka.common.network.{ClientInformation, ListenerName, Send}
  import org.apache.kafka.common.protocol.{ApiKeys, ApiMessage, Errors}
  import org.apache.kafka.common.message.AlterPartitionResponseData
  import org.apache.kafka.common.record.internal.{FileRecords, MemoryRecords}
  import org.apache.kafka.common.requests._
  import org.apache.kafka.common.security.auth.{KafkaPrincipal, SecurityProtocol}
  import org.apache.kafka.common.utils.{LogContext, Time}
  import org.apache.kafka.image.{MetadataDelta, MetadataImage, MetadataProvenance}
  import org.apache.kafka.metadata.KRaftMetadataCache
  import org.apache.kafka.network.metrics.RequestChannelMetrics
  import org.apache.kafka.server.{DelayedActionQueue, FetchManager, FetchSession, FetchSessionCacheShard, HostedPartition, LeaderEndPoint, SimpleApiVersionManager}
  import org.apache.kafka.server.common.{ControllerRequestCompletionHandler, DirectoryEventHandler, KRaftVersion, MetadataVersion}
  import org.apache.kafka.server.common.{NodeToControllerChannelManager, RequestLocal}
  import org.apache.kafka.server.config.ConfigType
  import org.apache.kafka.server.fault.FaultHandler
  import org.apache.kafka.server.metrics.KafkaYammerMetrics
  import org.apache.kafka.server.network.BrokerEndPoint
  import org.apache.kafka.server.purgatory.{DelayedOperation, DelayedOperationPurgatory}
  import org.apache.kafka.server.util.Scheduler
  import org.apache.kafka.server.util.timer.{Timer, TimerTask, TimerTaskEntry}
  import org.apache.kafka.storage.internals.log.{AppendOrigin, LogDirFailureChannel, LogOffsetMetadata, UnifiedLog}
  import org.apache.kafka.storage.internals.log.{LogManager => LogManagers}
  import org.apache.kafka.storage.log.metrics.BrokerTopicStats

  /** A clock that moves only when it is told to, and tells who listens. */
  final class StillClock(private var now: Long) extends Time {
    private val listeners = mutable.Buffer.empty[() => Unit]
    def listen(listener: () => Unit): Unit = listeners += listener
    override def milliseconds: Long = now
    override def hiResClockMs: Long = now
    override def nanoseconds: Long = now * 1000000
    override def sleep(ms: Long): Unit = { now += ms; listeners.toList.foreach(_()) }
    override def waitObject(on: Object, until: Supplier[java.lang.Boolean], deadlineMs: Long): Unit =
      throw new UnsupportedOperationException("nobody else could wake it")
  }

  /** Runs due tasks when the clock moves: the earliest first, equal ones as scheduled; none at the time of scheduling. */
  final class StillScheduler(clock: StillClock) extends Scheduler {
    private final class Task(val run: Runnable, var due: Long, val period: Long)
        extends ScheduledFuture[Unit] {
      private var cancelled = false
      var done = false
      override def cancel(interrupt: Boolean): Boolean = { val first = !cancelled; cancelled = true; first }
      override def isCancelled: Boolean = cancelled
      override def isDone: Boolean = done || cancelled
      override def get(): Unit = ()
      override def get(timeout: Long, unit: TimeUnit): Unit = ()
      override def getDelay(unit: TimeUnit): Long = unit.convert(due - clock.milliseconds, TimeUnit.MILLISECONDS)
      override def compareTo(other: Delayed): Int = getDelay(TimeUnit.MILLISECONDS).compareTo(other.getDelay(TimeUnit.MILLISECONDS))
    }
    private val waiting = mutable.TreeMap.empty[(Long, Long), Task]
    private var count = 0L
    clock.listen(() => runDueTasks())

    override def startup(): Unit = ()
    override def shutdown(): Unit = waiting.clear()
    override def resizeThreadPool(size: Int): Unit = ()
    override def schedule(name: String, run: Runnable, delayMs: Long, periodMs: Long): ScheduledFuture[_] = {
      val task = new Task(run, later(clock.milliseconds, delayMs), periodMs)
      push(task)
      task
    }
    /** When the first task that waits is due. */
    def nextDue: Option[Long] = waiting.headOption.map(_._1._1)
    def runDueTasks(): Unit =
      while (waiting.headOption.exists(_._1._1 <= clock.milliseconds)) {
        val (key, task) = waiting.head
        waiting.remove(key)
        if (!task.isCancelled) {
          task.run.run()
          if (task.period >= 0 && !task.isCancelled) { task.due = later(task.due, math.max(task.period, 1)); push(task) } else task.done = true
        }
      }
    private def later(ms: Long, by: Long): Long = if (ms > Long.MaxValue - by) Long.MaxValue else ms + by
    private def push(task: Task): Unit = { waiting.put((task.due, count), task); count += 1 }
  }

  /** A purgatory's timer: an operation expires when the clock has reached its time, at once if that is now. */
  final class StillTimer(scheduler: StillScheduler, clock: StillClock) extends Timer {
    private val entries = mutable.LinkedHashSet.empty[TimerTaskEntry]
    override def add(task: TimerTask): Unit = {
      val entry = new TimerTaskEntry(task, clock.milliseconds + task.delayMs)
      entries += entry
      def expire(): Unit = if (entries.remove(entry) && !entry.cancelled) task.run()
      if (task.delayMs <= 0) expire() else scheduler.schedule("expire", () => expire(), task.delayMs, -1)
    }
    override def advanceClock(timeoutMs: Long): Boolean = false
    override def size: Int = pending.size
    override def close(): Unit = ()
    /** The tasks that wait, in the order in which they came. */
    def pending: List[TimerTask] = { entries.filterInPlace(!_.cancelled); entries.toList.map(_.timerTask) }
  }

  object KafkaReplicas {
    /** The ticket of a follower's request, of which there is never more than one. */
    private[server] val OfFollower = 0
    /** What brokers may share because it decides nothing here: metrics, and quotas without limits (each has threads). */
    private lazy val metrics = new Metrics()
    private[server] lazy val requestMetrics =
      new RequestChannelMetrics(ApiKeys.apisForListener(ApiMessageType.ListenerType.BROKER))
    /** KafkaBroker.NumFetchSessionCacheShards, which only a broker has. */
    private[server] val SessionShards = 8
    private var quotas: QuotaFactory.QuotaManagers = _
    private[server] def quotasFor(config: KafkaConfig): QuotaFactory.QuotaManagers = synchronized {
      if (quotas == null) quotas = QuotaFactory.instantiate(config, metrics, Time.SYSTEM, "witness", "broker")
      quotas
    }
    private[server] def sharedMetrics: Metrics = metrics
    private[server] def bytes(buffer: ByteBuffer): Array[Byte] = {
      val copy = new Array[Byte](buffer.remaining)
      buffer.duplicate.get(copy)
      copy
    }
  }

  /** Some brokers, one clock. Broker ids are numbers; a ticket is the number of a request that was handled. */
  final class KafkaReplicas(startMs: Long) {
    val clock = new StillClock(startMs)
    FetchSession.FetchSessionCache.COUNTER.set(0) // all caches of a JVM take their turns together
    private[server] val brokers = mutable.TreeMap.empty[Int, KafkaReplica]
    private val answers = mutable.LinkedHashMap.empty[Int, Either[Array[Byte], String]] // bytes of a response, or words
    private var tickets = 0

    def start(id: Int, brokerEpoch: Long, settings: java.util.Map[String, String]): Unit =
      brokers(id) = new KafkaReplica(this, id, brokerEpoch, settings)
    def publish(id: Int, records: java.util.List[ApiMessage]): Unit = brokers(id).publish(records.asScala.toSeq)
    def crash(id: Int): Unit = { brokers.remove(id).foreach(_.letGo()); forgetMetrics() }
    def stop(id: Int): Unit = { brokers.remove(id).foreach(_.shutdown()); forgetMetrics() }
    /** Nobody reads the gauges of this JVM, and they would keep all brokers there ever were in its memory. */
    private def forgetMetrics(): Unit = if (brokers.isEmpty) {
      val registry = KafkaYammerMetrics.defaultRegistry
      registry.allMetrics.keySet.forEach(registry.removeMetric(_))
    }
    /** Let time pass, from one moment at which a task is due to the next, so that everything is done when it is due. */
    def sleep(ms: Long): Unit = {
      val end = clock.milliseconds + ms
      while (clock.milliseconds < end) {
        val next = brokers.values.flatMap(_.scheduler.nextDue).filter(_ > clock.milliseconds).minOption
        clock.sleep(next.getOrElse(end).min(end) - clock.milliseconds)
      }
    }
    /** Handle a request (header and body); the number by which `takeAnswers` names its answer, which may come later. */
    def handle(id: Int, request: Array[Byte]): Int = { val number = newTicket(); brokers(id).handle(number, request); number }
    def follow(id: Int): Unit = brokers(id).follow()
    /** ReplicaManager.appendRecords of entries "topic-partition" → batches, with the origin that a coordinator has. */
    def append(id: Int, entries: java.util.Map[String, Array[Byte]], acks: Int, timeoutMs: Long, internal: Boolean, origin: String): Int = {
      val number = newTicket()
      brokers(id).append(number, entries.asScala.toSeq, acks.toShort, timeoutMs, internal, AppendOrigin.valueOf(origin))
      number
    }
    def checkpoint(id: Int): Unit = brokers(id).replicaManager.checkpointHighWatermarks()
    /** Partition.truncateTo: what a follower did before KIP-101, at its start and whatever its leader would say. */
    def truncate(id: Int, topicPartition: String, offset: Long): Unit = {
      val replica = brokers(id)
      replica.replicaManager.onlinePartition(replica.topicPartition(topicPartition)).foreach(_.truncateTo(offset, isFuture = false))
    }
    /** What the broker knows of its partitions, as JSON. */
    def state(id: Int): String = brokers(id).state
    /** The AlterPartition request that waits for an answer, as JSON; "null" for none. */
    def alterPartition(id: Int): String = brokers(id).channel.request
    /** Answer it: an error code, and a result for each partition, as the fields of PartitionData separated by blanks. */
    def answerAlterPartition(id: Int, error: Int, results: java.util.List[String]): Unit =
      brokers(id).channel.answer(error.toShort, results.asScala.toSeq)
    /** All that was answered since the last call, in order: "ticket bytes BASE64", "ticket none", "ticket close", or "ticket append JSON". */
    def takeAnswers(): String = {
      val taken = answers.map {
        case (ticket, Left(response)) => s"$ticket bytes ${Base64.getEncoder.encodeToString(response)}"
        case (ticket, Right(words)) => s"$ticket $words"
      }.mkString("\n")
      answers.clear()
      taken
    }

    private[server] def answer(ticket: Int, what: Either[Array[Byte], String]): Unit = answers(ticket) = what
    /** The bytes of the response that this request, and no other, was answered with. */
    private[server] def takeAnswer(ticket: Int): Array[Byte] = answers.remove(ticket).get.left.toOption.get
    private[server] def newTicket(): Int = { tickets += 1; tickets }
  }

  /** A broker. */
  final class KafkaReplica(owner: KafkaReplicas, id: Int, brokerEpoch: Long, settings: java.util.Map[String, String]) {
    import KafkaReplicas.bytes

    private val clock = owner.clock
    private[server] val scheduler = new StillScheduler(clock)
    private val config = {
      val properties = new Properties()
      properties.putAll(settings)
      KafkaConfig.fromProps(properties, false)
    }
    KafkaRequestHandler.setBypassThreadCheck(true)
    private val metrics = KafkaReplicas.sharedMetrics
    private val quotas = KafkaReplicas.quotasFor(config)
    private val cache = new KRaftMetadataCache(id, () => KRaftVersion.KRAFT_VERSION_1)
    private val failures = new LogDirFailureChannel(10)
    private val stats = new BrokerTopicStats(false)
    private val logManager = LogManager(config, Seq.empty, cache, scheduler, clock, stats, failures)
    private val timers = mutable.LinkedHashMap.empty[String, StillTimer]
    private var image = {
      val delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build()
      delta.replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
        .setFeatureLevel(MetadataVersion.latestProduction.featureLevel))
      delta.apply(MetadataProvenance.EMPTY)
    }
    private var firstPublish = true
    private val requests = new IdentityHashMap[RequestChannel.Request, Int]

    /** The way to the controller: one request waits here until it is answered. */
    object channel extends NodeToControllerChannelManager {
      private var waiting: Option[(AlterPartitionRequest, ControllerRequestCompletionHandler)] = None
      override def start(): Unit = ()
      override def shutdown(): Unit = ()
      override def controllerApiVersions: Optional[NodeApiVersions] = Optional.empty
      override def getTimeoutMs: Long = Long.MaxValue
      override def sendRequest(builder: AbstractRequest.Builder[_ <: AbstractRequest], handler: ControllerRequestCompletionHandler): Unit =
        waiting = Some((builder.build(3.toShort).asInstanceOf[AlterPartitionRequest], handler))
      def request: String = json(waiting.map { case (sent, _) => Seq(sent.data.brokerEpoch,
        for (topic <- sent.data.topics.asScala; partition <- topic.partitions.asScala) yield Seq(
          topic.topicId.toString, partition.partitionIndex, partition.leaderEpoch, partition.partitionEpoch,
          partition.newIsrWithEpochs.asScala.map(member => Seq(member.brokerId, member.brokerEpoch)), partition.leaderRecoveryState))
      })
      def answer(error: Short, results: Seq[String]): Unit = {
        val (_, handler) = waiting.get
        waiting = None
        val data = new AlterPartitionResponseData().setErrorCode(error)
        for ((topicId, lines) <- results.map(_.split(" ")).groupBy(_(0))) {
          val topic = new AlterPartitionResponseData.TopicData().setTopicId(Uuid.fromString(topicId))
          for (Array(_, partition, code, leader, leaderEpoch, isr, recovery, partitionEpoch) <- lines)
            topic.partitions.add(new AlterPartitionResponseData.PartitionData().setPartitionIndex(partition.toInt)
              .setErrorCode(code.toShort).setLeaderId(leader.toInt).setLeaderEpoch(leaderEpoch.toInt)
              .setIsr(isr.split(",").filter(_.nonEmpty).map(_.toInt: Integer).toList.asJava)
              .setLeaderRecoveryState(recovery.toByte).setPartitionEpoch(partitionEpoch.toInt))
          data.topics.add(topic)
        }
        handler.onComplete(
          new ClientResponse(null, null, "controller", 0, 0, false, null, null, new AlterPartitionResponse(data)))
      }
    }

    private def purgatory[T <: DelayedOperation](name: String): Option[DelayedOperationPurgatory[T]] = {
      val timer = new StillTimer(scheduler, clock)
      timers(name) = timer
      Some(new DelayedOperationPurgatory[T](name, timer, id, 1000, false, true))
    }

    private final class FetcherManager(manager: ReplicaManager, time: Time, quota: ReplicationQuotaManager) extends ReplicaFetcherManager(
      config, manager, metrics, time, quota, () => cache.metadataVersion(), () => brokerEpoch
    ) {
      override def createFetcherThread(fetcherId: Int, source: BrokerEndPoint): ReplicaFetcherThread = {
        val name = s"ReplicaFetcherThread-$fetcherId-${source.id}"
        val sessions = new FetchSessionHandler(new LogContext(), source.id)
        val leader: LeaderEndPoint = new RemoteLeaderEndPoint(
          "", new Wire(source), sessions, KafkaReplica.this.config, manager, quota, () => cache.metadataVersion(), () => brokerEpoch)
        new ReplicaFetcherThread(name, leader, KafkaReplica.this.config, failedPartitions, manager, quota, "") {
          override def start(): Unit = () // `follow` takes its steps
        }
      }
    }

    /** The real one, whose followers have no threads. */
    final class Manager extends ReplicaManager(
      config, metrics, clock, scheduler, logManager, None, quotas, cache, failures,
      new DefaultAlterPartitionManager(channel, scheduler, clock, id, () => brokerEpoch), stats,
      purgatory("produce"), purgatory("fetch"), purgatory("delete_records"), purgatory("remote_fetch"),
      purgatory("remote_list_offsets"), purgatory("share_fetch"),
      () => brokerEpoch, None, DirectoryEventHandler.NOOP, new DelayedActionQueue
    ) {
      override def createReplicaFetcherManager(metrics: Metrics, time: Time, quota: ReplicationQuotaManager): ReplicaFetcherManager =
        new FetcherManager(this, time, quota)
      /** All partitions in the order of their names; None for one whose directory is offline. */
      def hosted: Seq[(TopicPartition, Option[Partition])] = allPartitions.asScala.toSeq.sortBy(_._1.toString).collect {
        case (topicPartition, online: HostedPartition.Online[Partition]) => topicPartition -> Some(online.partition())
        case (topicPartition, _: HostedPartition.Offline[Partition]) => topicPartition -> None
      }
    }
    val replicaManager = new Manager

    private object requestChannel extends RequestChannel(10, clock, KafkaReplicas.requestMetrics) {
      override def sendResponse(request: RequestChannel.Request, response: AbstractResponse, onComplete: Option[Send => Unit]): Unit = {
        response match {
          case fetched: FetchResponse => // what a socket would copy from the file must be read here
            for (topic <- fetched.data.responses.asScala; partition <- topic.partitions.asScala)
              partition.records match {
                case inFile: FileRecords => partition.setRecords(inMemory(inFile))
                case _ =>
              }
          case _ =>
        }
        val payload = bytes(request.context.buildResponseEnvelopePayload(response))
        answer(request, Left(payload))
      }
      override def sendNoOpResponse(request: RequestChannel.Request): Unit = answer(request, Right("none"))
      override def closeConnection(request: RequestChannel.Request, errors: java.util.Map[Errors, Integer]): Unit = answer(request, Right("close"))
      override def startThrottling(request: RequestChannel.Request): Unit = ()
      override def endThrottling(request: RequestChannel.Request): Unit = ()
    }
    private val versions = new SimpleApiVersionManager(ApiMessageType.ListenerType.BROKER, false, () => cache.features)
    // As BrokerServer.startup has it. Without the setting there is no room: every fetch is answered without a session.
    private val fetchManager = {
      val slots = settings.getOrDefault("max.incremental.fetch.session.cache.slots", "0").toInt
      val ids = Int.MaxValue / KafkaReplicas.SessionShards
      val shards = (0 until KafkaReplicas.SessionShards).map(number => new FetchSessionCacheShard(
        slots / KafkaReplicas.SessionShards, KafkaBroker.MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS, ids, number))
      new FetchManager(clock, new FetchSession.FetchSessionCache(shards.asJava))
    }
    // Without coordinators, forwarding and telemetry only requests that the replica manager answers can be handled.
    private val apis = new KafkaApis(
      requestChannel, null, replicaManager, null, null, null, null, id, config, cache, cache, metrics, None, quotas,
      fetchManager, null, stats, "minikafka", clock, null, versions, null, null)

    private def answer(request: RequestChannel.Request, what: Either[Array[Byte], String]): Unit = owner.answer(requests.remove(request), what)

    private def inMemory(records: FileRecords): MemoryRecords = {
      val buffer = ByteBuffer.allocate(records.sizeInBytes)
      records.readInto(buffer, 0)
      MemoryRecords.readableRecords(buffer)
    }

    def handle(ticket: Int, request: Array[Byte]): Unit = {
      val buffer = ByteBuffer.wrap(request)
      val header = RequestHeader.parse(buffer)
      val context = new RequestContext(header, "connection", InetAddress.getLoopbackAddress, KafkaPrincipal.ANONYMOUS,
        new ListenerName("PLAINTEXT"), SecurityProtocol.PLAINTEXT, ClientInformation.EMPTY, false)
      val parsed = new RequestChannel.Request(0, context, clock.nanoseconds, MemoryPool.NONE, buffer, requestChannel.metrics)
      requests.put(parsed, ticket)
      apis.handle(parsed, RequestLocal.noCaching)
    }

    def append(ticket: Int, entries: Seq[(String, Array[Byte])], acks: Short, timeoutMs: Long, internal: Boolean, origin: AppendOrigin): Unit = {
      val records = mutable.LinkedHashMap.from(entries.map { case (name, data) =>
        val partition = topicPartition(name)
        new TopicIdPartition(cache.getTopicId(partition.topic), partition) -> MemoryRecords.readableRecords(ByteBuffer.wrap(data))
      })
      replicaManager.appendRecords(timeoutMs, acks, internal, origin, records,
        status => owner.answer(ticket, Right("append " + json(status.asScala.map { case (partition, response) =>
          partition.topicPartition.toString -> Seq(response.error.code, response.baseOffset, response.logAppendTime, response.logStartOffset)
        }))),
        transactionVersion = if (origin == AppendOrigin.COORDINATOR) 0.toShort else (-1).toShort)
      replicaManager.tryCompleteActions()
    }

    def topicPartition(name: String): TopicPartition = {
      val dash = name.lastIndexOf('-')
      new TopicPartition(name.take(dash), name.drop(dash + 1).toInt)
    }

    // Metadata: what BrokerMetadataPublisher does, without coordinators.

    // Kafka logs what goes wrong, and goes on.
    private val faults: FaultHandler = (message: String, cause: Throwable) => new KafkaException(message, cause)
    config.dynamicConfig.initialize(None)
    config.dynamicConfig.addBrokerReconfigurable(new DynamicLogConfig(logManager, DirectoryEventHandler.NOOP))
    private val configPublisher = new DynamicConfigPublisher(config, faults, Map(
      ConfigType.TOPIC -> new TopicConfigHandler(replicaManager, config, quotas),
      ConfigType.BROKER -> new BrokerConfigHandler(config, quotas)), "broker")

    def publish(records: Seq[ApiMessage]): Unit = {
      val delta = new MetadataDelta.Builder().setImage(image).build()
      records.foreach(delta.replay)
      val end = image.provenance.lastContainedOffset + records.size
      image = delta.apply(new MetadataProvenance(end, 1, clock.milliseconds, true))
      cache.setImage(image)
      if (firstPublish) loadLogs()
      if (delta.topicsDelta != null)
        try replicaManager.applyDelta(delta.topicsDelta, image)
        catch { case failure: Throwable => faults.handleFault("Error applying topics delta", failure) }
      configPublisher.onMetadataUpdate(delta, image)
      if (firstPublish) replicaManager.startHighWatermarkCheckPointThread()
      firstPublish = false
    }

    private def loadLogs(): Unit = {
      logManager.startup(cache.getAllTopics.asScala, isStray = log =>
        log.topicId.isEmpty ||
          LogManagers.isStrayReplica(image.topics.partitionReplicas(log.topicId.get, log.topicPartition.partition), id, log))
      logManager.recoverAbandonedFutureLogs(id, image.topics)
      // ReplicaManager.startup without the thread that waits for directories to fail.
      val shrink = classOf[ReplicaManager].getDeclaredMethod("maybeShrinkIsr")
      shrink.setAccessible(true)
      scheduler.schedule("isr-expiration", () => shrink.invoke(replicaManager), 0L, config.replicaLagTimeMaxMs / 2)
    }

    // Followers

    private def fetchers: Seq[(BrokerIdAndFetcherId, AbstractFetcherThread)] =
      replicaManager.replicaFetcherManager.fetcherThreadMap.toSeq.sortBy { case (key, _) => (key.fetcherId, key.brokerId) }

    def follow(): Unit = fetchers.foreach(_._2.doWork())

    /** Carries a follower's requests to the leader's KafkaApis and the answers back, both as bytes. */
    private final class Wire(to: BrokerEndPoint) extends BlockingSend {
      override def brokerEndPoint(): BrokerEndPoint = to
      override def initiateClose(): Unit = ()
      override def close(): Unit = ()
      override def sendRequest(builder: AbstractRequest.Builder[_ <: AbstractRequest]): ClientResponse = {
        val leader = owner.brokers.getOrElse(to.id, throw new java.io.IOException(s"Connection to ${to.id} was disconnected"))
        val request = builder.build()
        val header = new RequestHeader(request.apiKey, request.version, s"broker-$id-fetcher", 0)
        val response = leader.handleNow(KafkaReplicas.OfFollower, bytes(request.serializeWithHeader(header)))
        new ClientResponse(header, null, to.toString, 0, 0, false, null, null, AbstractResponse.parseResponse(response, header))
      }
    }

    /** Handle a follower's request; if it waits for data, its wait is over at once, though no time passes. */
    def handleNow(ticket: Int, request: Array[Byte]): ByteBuffer = {
      val timer = timers("fetch")
      val before = timer.pending.toSet
      handle(ticket, request)
      timer.pending.filterNot(before).foreach(_.asInstanceOf[DelayedOperation].forceComplete())
      ByteBuffer.wrap(owner.takeAnswer(ticket))
    }

    // The end

    def letGo(): Unit = {
      scheduler.shutdown()
      logManager.allLogs.foreach(_.closeHandlers())
      LogManagerAccess.unlock(logManager)
    }

    def shutdown(): Unit = {
      replicaManager.shutdown()
      scheduler.shutdown()
      logManager.shutdown(brokerEpoch)
    }

    // What can be seen

    def state: String = json(ListMap(
      "partitions" -> ListMap.from(replicaManager.hosted.map { case (name, partition) => name.toString -> partition.map(describe) }),
      "waiting" -> Seq("produce", "fetch", "delete_records").map(timers(_).size)))

    private def describe(partition: Partition): ListMap[String, Any] = {
      val state = PartitionAccess.stateOf(partition)
      ListMap(
        "leader" -> partition.leaderReplicaIdOpt,
        "leader_epoch" -> partition.getLeaderEpoch,
        "leader_epoch_start_offset" -> PartitionAccess.leaderEpochStartOffset(partition),
        "partition_epoch" -> partition.getPartitionEpoch,
        "state" -> state.getClass.getSimpleName,
        "isr" -> state.isr.asScala.map(_.toInt).toSeq.sorted,
        "maximal_isr" -> state.maximalIsr.asScala.map(_.toInt).toSeq.sorted,
        "replicas" -> ListMap.from(partition.remoteReplicas.toSeq.sortBy(_.brokerId).map { replica =>
          val seen = replica.stateSnapshot
          replica.brokerId.toString -> Seq(position(seen.logEndOffsetMetadata), seen.logStartOffset, seen.lastFetchLeaderLogEndOffset,
            seen.lastFetchTimeMs, seen.lastCaughtUpTimeMs, seen.brokerEpoch.orElse(-1L))
        }),
        "log" -> partition.log.map(describe),
        "fetch" -> fetchState(partition.topicPartition),
        "failed" -> replicaManager.replicaFetcherManager.failedPartitions.contains(partition.topicPartition))
    }

    private def describe(log: UnifiedLog): Seq[Any] = Seq(
      log.logStartOffset, log.highWatermark, log.lastStableOffset, log.logEndOffset,
      log.leaderEpochCache.epochEntries.asScala.map(entry => Seq(entry.epoch, entry.startOffset)).toSeq)

    private def fetchState(partition: TopicPartition): Option[Seq[Any]] =
      fetchers.flatMap { case (key, fetcher) => fetcher.fetchState(partition).map(state => Seq(
        key.fetcherId, key.brokerId, state.fetchOffset, state.lag.orElse(-1L), state.currentLeaderEpoch, state.state.toString,
        state.lastFetchedEpoch.orElse(-1)))
      }.headOption

    private def position(offset: LogOffsetMetadata): Seq[Long] =
      Seq(offset.messageOffset, offset.segmentBaseOffset, offset.relativePositionInSegment)

    private def json(value: Any): String = value match {
      case None | null => "null"
      case Some(inner) => json(inner)
      case text: String => "\"" + text + "\""
      case fields: scala.collection.Map[_, _] =>
        fields.map { case (name, inner) => json(name.toString) + ":" + json(inner) }.mkString("{", ",", "}")
      case items: Iterable[_] => items.map(json).mkString("[", ",", "]")
      case other => other.toString
    }
  }
}
