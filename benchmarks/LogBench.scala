// The peer of benchmarks/log_bench.py: the same rounds on Kafka's own UnifiedLog, called in a loop inside the JVM.
//
//   LogBench DIR BATCH_FILE APPENDS RANDOM_READS ROUNDS    appends, reads and look-ups; a line "name seconds" for each
//                                                          measurement of each round
//   LogBench recover DIR ROUNDS                            loads the partition DIR as after an unclean stop, again and
//                                                          again: each time all of it is read and all indexes are made anew
//   LogBench clean MEMORY DIR…                             compacts each of the partitions DIR, with an offset map of
//                                                          MEMORY bytes
//   LogBench manage DIR THREADS CLEAN ROUNDS               starts a LogManager on the log directory DIR and shuts it down,
//                                                          again and again; CLEAN false: as after an unclean stop
//
// Compiled by the scala-compiler jar that PySpark ships, so that a machine without javac will do.

import java.io.File
import java.nio.ByteBuffer
import java.nio.file.{Files, Path}
import java.util.{Optional, Properties}

import scala.jdk.CollectionConverters._
import scala.util.Random

import kafka.server.builders.LogManagerBuilder
import org.apache.kafka.common.config.ConfigResource
import org.apache.kafka.common.record.internal.{FileRecords, MemoryRecords}
import org.apache.kafka.common.utils.Time
import org.apache.kafka.metadata.ConfigRepository
import org.apache.kafka.server.common.RequestLocal
import org.apache.kafka.server.storage.log.FetchIsolation
import org.apache.kafka.server.util.KafkaScheduler
import org.apache.kafka.storage.internals.log._
import org.apache.kafka.storage.internals.utils.Throttler
import org.apache.kafka.storage.log.metrics.BrokerTopicStats

object LogBench {
  private val scheduler = new KafkaScheduler(1)
  private var sink = 0L

  def main(args: Array[String]): Unit = {
    scheduler.startup()
    if (args(0) == "recover") for (_ <- 0 until args(2).toInt) recover(new File(args(1)))
    else if (args(0) == "clean") for (dir <- args.drop(2)) clean(new File(dir), args(1).toInt)
    else if (args(0) == "manage")
      for (_ <- 0 until args(4).toInt) manage(new File(args(1)), args(2).toInt, args(3).toBoolean)
    else rounds(Path.of(args(0)), Files.readAllBytes(Path.of(args(1))), args(2).toInt, args(3).toInt, args(4).toInt)
    if (sink == 42) println("the reads are not optimised away")
    System.exit(0)
  }

  private def rounds(dir: Path, batch: Array[Byte], appends: Int, randomReads: Int, count: Int): Unit =
    for (round <- 0 until count) {
      val log = open(dir.resolve(s"bench-$round").toFile, clean = true)
      timed("append") { append(log, batch, appends) }
      log.updateHighWatermark(log.logEndOffset)
      timed("read") { readThrough(log) }
      timed("random_read") { readAtRandom(log, randomReads) }
      timed("lookup") { lookUp(log, randomReads) }
      log.close()
      delete(dir.resolve(s"bench-$round").toFile)
    }

  private def append(log: UnifiedLog, batch: Array[Byte], appends: Int): Unit = {
    val buffer = ByteBuffer.wrap(batch)
    var i = 0
    while (i < appends) {
      buffer.putLong(0, 0L) // a client's batch begins at offset 0; the append before left its own there
      log.appendAsLeader(MemoryRecords.readableRecords(buffer.duplicate()), 0)
      i += 1
    }
  }

  // Every byte is fetched, each batch's CRC checked and each record visited.
  private def readThrough(log: UnifiedLog): Unit = {
    var offset = 0L
    while (offset < log.logEndOffset) {
      val records = log.read(offset, 1 << 20, FetchIsolation.HIGH_WATERMARK, true).records.asInstanceOf[FileRecords]
      val buffer = ByteBuffer.allocate(records.sizeInBytes)
      records.readInto(buffer, 0)
      for (batch <- MemoryRecords.readableRecords(buffer).batches.asScala) {
        batch.ensureValid()
        batch.iterator.forEachRemaining(record => sink += record.valueSize)
        offset = batch.nextOffset
      }
    }
  }

  private def readAtRandom(log: UnifiedLog, reads: Int): Unit = {
    val random = new Random(7)
    val end = log.logEndOffset.toInt
    for (_ <- 0 until reads)
      sink += log.read(random.nextInt(end), 4096, FetchIsolation.HIGH_WATERMARK, true).records.sizeInBytes
  }

  private def lookUp(log: UnifiedLog, lookUps: Int): Unit = {
    val random = new Random(7)
    val end = log.logEndOffset.toInt
    val index = log.logSegments.get(0).offsetIndex
    for (_ <- 0 until lookUps) sink += index.lookup(random.nextInt(end)).position
  }

  private def recover(dir: File): Unit = {
    var log: UnifiedLog = null
    timed("recover") { log = open(dir, clean = false) }
    log.close()
  }

  private def clean(dir: File, memory: Int): Unit = {
    val log = open(dir, clean = true)
    log.updateHighWatermark(log.logEndOffset)
    val throttler = new Throttler(Double.MaxValue, 300, "cleaner-io", "bytes", Time.SYSTEM)
    val cleaner = new Cleaner(0, new SkimpyOffsetMap(memory), 256 * 1024, 1 << 20, 0.9, throttler, Time.SYSTEM, _ => ())
    val todo = new LogToClean(log, 0, log.logEndOffset, false)
    var stats: CleanerStats = null
    timed("clean") { stats = cleaner.doClean(todo, Time.SYSTEM.milliseconds).getValue }
    println(s"index ${stats.elapsedIndexSecs}")
    log.close()
  }

  private def manage(dir: File, threads: Int, clean: Boolean): Unit = {
    if (!clean) {
      Files.delete(dir.toPath.resolve(".kafka_cleanshutdown"))
      Files.writeString(dir.toPath.resolve("recovery-point-offset-checkpoint"), "0\n0\n")
    }
    val topicConfigs = new ConfigRepository { override def config(resource: ConfigResource) = new Properties }
    val manager = new LogManagerBuilder().setLogDirs(java.util.List.of(dir)).setConfigRepository(topicConfigs)
      .setInitialDefaultConfig(new LogConfig(java.util.Map.of())).setCleanerConfig(new CleanerConfig(false))
      .setRecoveryThreadsPerDataDir(threads).setScheduler(scheduler).setTime(Time.SYSTEM)
      .setBrokerTopicStats(new BrokerTopicStats(false)).setLogDirFailureChannel(new LogDirFailureChannel(1)).build()
    timed("startup") { manager.startup(Set.empty) }
    timed("shutdown") { manager.shutdown() }
  }

  private def open(dir: File, clean: Boolean): UnifiedLog =
    UnifiedLog.create(dir, new LogConfig(java.util.Map.of("max.message.bytes", "10000000")), 0L, 0L, scheduler,
      new BrokerTopicStats(false), Time.SYSTEM, 900000, new ProducerStateManagerConfig(86400000, false), 600000,
      new LogDirFailureChannel(10), clean, Optional.empty())

  private def timed(name: String)(body: => Unit): Unit = {
    val start = System.nanoTime
    body
    println(s"$name ${(System.nanoTime - start) / 1e9}")
  }

  private def delete(dir: File): Unit = {
    dir.listFiles.foreach(_.delete())
    dir.delete()
  }
}
