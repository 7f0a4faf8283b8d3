// What Kafka's own UnifiedLog shows of itself, each as JSON: one call from Python for what would be dozens.
//
// Compiled by minikafka.jvm.scala_compiler; asked by minikafka.witness.kafka.kafka_log.

package minikafka

import scala.jdk.CollectionConverters._

import org.apache.kafka.storage.internals.log.{LogAppendInfo, LogOffsetMetadata, UnifiedLog}

class KafkaLogState {
  /** Kafka tells it, in place of a first offset that is unknown, without saying which of the two it is. */
  private val lastOffsetOfFirstBatch = classOf[LogAppendInfo].getDeclaredField("lastOffsetOfFirstBatch")
  lastOffsetOfFirstBatch.setAccessible(true)

  /** The offsets: start, recovery point, high watermark, last stable, end. */
  def offsets(log: UnifiedLog): String =
    array(log.logStartOffset, log.recoveryPoint, log.highWatermark, log.lastStableOffset, log.logEndOffset)

  /** Of each segment its base offset and its size in bytes. */
  def segments(log: UnifiedLog): String =
    rows(log.logSegments.asScala.map(segment => array(segment.baseOffset, segment.size)))

  /** Of each leader epoch its number and its first offset. */
  def epochs(log: UnifiedLog): String =
    rows(log.leaderEpochCache.epochEntries.asScala.map(entry => array(entry.epoch, entry.startOffset)))

  /** Of each producer, in the order of their ids: id, epoch, last sequence, last data offset, last timestamp, the
    * coordinator's epoch, and the first offset of its open transaction or -1.
    */
  def producers(log: UnifiedLog): String =
    rows(log.producerStateManager.activeProducers.asScala.toSeq.sortBy(_._1.toLong).map { case (id, entry) =>
      val lastSeq = entry.batchMetadata.asScala.lastOption.map(_.lastSeq).getOrElse(-1)
      array(id, entry.producerEpoch, lastSeq, entry.lastDataOffset, entry.lastTimestamp, entry.coordinatorEpoch,
        entry.currentTxnFirstOffset.orElse(-1L))
    })

  /** All of these in one array. */
  def all(log: UnifiedLog): String = array(offsets(log), segments(log), epochs(log), producers(log))

  /** The fields of an append by minikafka's names. */
  def appendInfo(info: LogAppendInfo): String = Seq[(String, Any)](
    "first_offset" -> info.firstOffset,
    "last_offset" -> info.lastOffset,
    "last_leader_epoch" -> info.lastLeaderEpoch.map[Any](epoch => epoch).orElse(null),
    "max_timestamp" -> info.maxTimestamp,
    "log_append_time" -> info.logAppendTime,
    "log_start_offset" -> info.logStartOffset,
    "source_compression" -> text(info.sourceCompression),
    "valid_bytes" -> info.validBytes,
    "last_offset_of_first_batch" -> lastOffsetOfFirstBatch.getLong(info),
    "leader_hw_change" -> text(info.leaderHwChange)
  ).map { case (name, value) => s"\"$name\":$value" }.mkString("{", ",", "}")

  /** An offset, the base offset of its segment, and its position there in bytes. */
  def place(offset: LogOffsetMetadata): String =
    array(offset.messageOffset, offset.segmentBaseOffset, offset.relativePositionInSegment)

  private def array(values: Any*): String = rows(values)

  private def rows(values: Iterable[Any]): String = values.mkString("[", ",", "]")

  private def text(constant: Enum[_]): String = "\"" + constant.name + "\""
}
