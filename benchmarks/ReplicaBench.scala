// The peer of benchmarks/replica_bench.py: the same rounds on Kafka's own ReplicaManager, KafkaApis and followers, called
// in a loop inside the JVM. The brokers are those of minikafka.witness (KafkaReplicas.scala), whose classes are needed.
//
//   ReplicaBench DIR BATCH_FILE APPENDS REPLICATIONS ROUNDS    a line "name seconds" for each measurement of each round

package kafka.server {
  import java.io.File
  import java.nio.ByteBuffer
  import java.nio.file.{Files, Path}

  import scala.jdk.CollectionConverters._

  import org.apache.kafka.common.{TopicIdPartition, TopicPartition, Uuid}
  import org.apache.kafka.common.metadata.{PartitionRecord, RegisterBrokerRecord, TopicRecord}
  import org.apache.kafka.common.protocol.{ApiMessage, Errors}
  import org.apache.kafka.common.record.internal.MemoryRecords
  import org.apache.kafka.storage.internals.log.AppendOrigin

  object ReplicaBench {
    private val topicId = Uuid.fromString("cmVwbGljYS1iZW5jaC1pZA")
    private val key = new TopicIdPartition(topicId, new TopicPartition("bench", 0))
    private var answered = 0

    def main(args: Array[String]): Unit = {
      val Array(dir, batch, appends, replications, rounds) = args
      val bytes = Files.readAllBytes(Path.of(batch))
      try for (round <- 0 until rounds.toInt) {
        measure("append", new File(dir, s"append-$round"), 1, bytes, appends.toInt, acks = 1)
        measure("replicate", new File(dir, s"replicate-$round"), 3, bytes, replications.toInt, acks = -1)
      } catch { case failure: Throwable => failure.printStackTrace(); System.exit(1) }
      System.exit(0) // threads of the metrics would keep it alive
    }

    private def measure(name: String, dir: File, replicas: Int, batch: Array[Byte], requests: Int, acks: Short): Unit = {
      val world = brokers(dir, replicas)
      val buffer = ByteBuffer.wrap(batch)
      answered = 0
      val start = System.nanoTime()
      var i = 0
      while (i < requests) {
        produce(world, buffer, acks)
        if (replicas > 1) {
          require(answered == i)
          for (_ <- 0 until 2; id <- 1 until replicas) world.follow(id)
        }
        i += 1
        require(answered == i)
      }
      println(s"$name ${(System.nanoTime() - start) / 1e9}")
      for (id <- 0 until replicas) world.stop(id)
    }

    private def produce(world: KafkaReplicas, buffer: ByteBuffer, acks: Short): Unit = {
      buffer.putLong(0, 0L) // a client's batch begins at offset 0; the append before left its own there
      val manager = world.brokers(0).replicaManager
      manager.appendRecords(30000, acks, false, AppendOrigin.CLIENT,
        Map(key -> MemoryRecords.readableRecords(buffer.duplicate())),
        status => {
          require(status.values.asScala.forall(_.error == Errors.NONE), status.toString)
          answered += 1
        })
      manager.tryCompleteActions()
    }

    private def brokers(dir: File, replicas: Int): KafkaReplicas = {
      val world = new KafkaReplicas(1700000000000L)
      val ids = (0 until replicas).map(id => id: Integer).asJava
      val registrations = (0 until replicas).map(registration)
      val topic = new TopicRecord().setName("bench").setTopicId(topicId)
      val partition = new PartitionRecord().setTopicId(topicId).setPartitionId(0).setReplicas(ids).setIsr(ids).setLeader(0).setLeaderEpoch(0).setPartitionEpoch(0)
        .setDirectories((0 until replicas).map(_ => Uuid.ZERO_UUID: Uuid).asJava)
      for (id <- 0 until replicas) {
        world.start(id, id + 1L, settings(id, new File(dir, s"broker-$id")))
        world.publish(id, (registrations ++ Seq[ApiMessage](topic, partition)).asJava)
      }
      world
    }

    private def registration(id: Int): ApiMessage = {
      val endPoints = new RegisterBrokerRecord.BrokerEndpointCollection()
      endPoints.add(new RegisterBrokerRecord.BrokerEndpoint().setName("PLAINTEXT").setHost("localhost").setPort(9092 + id).setSecurityProtocol(0))
      new RegisterBrokerRecord().setBrokerId(id).setBrokerEpoch(id + 1L).setIncarnationId(new Uuid(1, id)).setEndPoints(endPoints).setFenced(false)
    }

    private def settings(id: Int, dir: File): java.util.Map[String, String] = {
      dir.mkdirs()
      Map(
        "process.roles" -> "broker", "node.id" -> id.toString, "controller.quorum.voters" -> "100@localhost:9093",
        "controller.listener.names" -> "CONTROLLER", "listeners" -> s"PLAINTEXT://localhost:${9092 + id}",
        "log.dirs" -> dir.getPath, "log.cleaner.enable" -> "false", "message.max.bytes" -> "10000000",
        "replica.fetch.max.bytes" -> "10000000").asJava
    }
  }
}
