"""One way to solve each exercise of the lesson *Records*."""


def attributes(bits):
    codec = ("none", "gzip", "snappy", "lz4", "zstd")[bits & 7]
    return codec, bool(bits & 0x08), bool(bits & 0x10), bool(bits & 0x20), bool(bits & 0x40)


def needs_new_crc(batch_type, max_timestamp, topic_type, now):
    written = now if topic_type == "LogAppendTime" else max_timestamp
    return batch_type != topic_type or max_timestamp != written


def sizes_of_batches(records):
    def varint(number):
        return f"CAST(ceil(length(bin(IF({number} >= 0, 2 * ({number}), -2 * ({number}) - 1))) / 7) AS INT)"

    return records.sparkSession.sql(
        f"""WITH deltas AS (
                SELECT *, timestamp - first(timestamp) OVER (PARTITION BY batch ORDER BY number) AS delta
                FROM {{records}}),
            bodies AS (
                SELECT batch, 2 + {varint("delta")} + {varint("number")}
                       + {varint("coalesce(key_size, -1)")} + coalesce(key_size, 0)
                       + {varint("coalesce(value_size, -1)")} + coalesce(value_size, 0) AS body
                FROM deltas)
            SELECT batch, 61 + sum({varint("body")} + body) AS bytes FROM bodies GROUP BY batch ORDER BY batch""",
        records=records,
    )


def gone_offsets(batches, records):
    return batches.sparkSession.sql(
        """SELECT base_offset, offset
           FROM (SELECT base_offset, explode(sequence(base_offset, base_offset + last_offset_delta)) AS offset
                 FROM {batches}) LEFT ANTI JOIN {records} USING (offset)
           ORDER BY base_offset, offset""",
        batches=batches,
        records=records,
    )
