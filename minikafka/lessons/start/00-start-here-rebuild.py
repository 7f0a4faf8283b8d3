# %% [markdown]
# # Start here: rebuild
#
# *A page on SQL windows, and two functions to complete.*
#
# **Time:** twenty minutes. **Before:** the lesson [Start here](00-start-here.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `file_names.hint()` gives one hint; each
# further call gives a plainer one. `file_names.solution()` shows one way.
#
# This notebook has its own kernel, so nothing from the lesson is defined here. Begin with the first cell. It takes a few seconds, because it starts
# Spark, which judges what you write.

# %%
from minikafka.lab import ___, answer, copied_log, wake_witnesses

wake_witnesses()

# %% [markdown]
# ## SQL windows, if you need them
#
# Each lesson has exercises that you answer with a query in Spark. Most of these queries use a **window**: for each row, SQL computes a value from
# other rows, too. If you know `sum(…) OVER (…)` well, go on to the exercises. The table below has one row for each batch in the first two segments of
# `orders-0`: the base offset of its segment, its own base offset, and its size in bytes. (In a browser tab there is no Spark. Read this section there
# with its stored outputs, and go on at *Two functions*.)

# %%
from minikafka.lab.exercises.witnessed import frame
from minikafka.spark import session

sql, orders = session().sql, copied_log("data/orders-0")
rows = [(segment.base_offset, batch.base_offset, batch.size_in_bytes) for segment in orders.log_segments[:2] for batch in segment.log.batches()]
frame(rows, "segment BIGINT, base BIGINT, size BIGINT").createOrReplaceTempView("batches")
answer(sql("SELECT * FROM batches ORDER BY base"))

# %% [markdown]
# `GROUP BY` makes one row of many. A window keeps every row, and computes with several rows for each of them. `OVER (PARTITION BY segment)` takes all
# rows of the same segment; `OVER ()` takes all rows.

# %%
answer(sql("""
    SELECT base, size, sum(size) OVER (PARTITION BY segment) AS of_its_segment, sum(size) OVER () AS of_all
    FROM batches ORDER BY base
"""))

# %% [markdown]
# With `ORDER BY` inside the window, each row sees the rows up to and including itself. A `sum` then grows from row to row, `max` is *the largest so
# far*, and `row_number` counts. `lag(…)` is the value of the row before, and null in the first row. (`ORDER BY` at the end of the query only sorts
# the output.)

# %%
answer(sql("""
    SELECT base, size, row_number() OVER w AS nth, sum(size) OVER w AS so_far, max(size) OVER w AS largest,
           lag(size) OVER w AS before
    FROM batches WINDOW w AS (PARTITION BY segment ORDER BY base) ORDER BY base
"""))

# %% [markdown]
# The rows that a row sees are its **frame**. You can set it: `ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING` ends before the row itself. If you
# set no frame, rows with equal `ORDER BY` values see each other, too. Both windows below are ordered by the size in tens of bytes. Only the second
# one counts row by row.

# %%
answer(sql("""
    SELECT base, size DIV 10 AS tens, count(*) OVER (ORDER BY size DIV 10) AS with_equals,
           count(*) OVER (ORDER BY size DIV 10, base ROWS UNBOUNDED PRECEDING) AS row_by_row
    FROM batches ORDER BY tens, base
"""))

# %% [markdown]
# The last pattern: many of Kafka's loops go from the start and stop at the first *no*. In SQL, `bool_and` over all rows so far stays true up to that
# row. This query gives the batches before the first one of 185 bytes or more:

# %%
answer(sql("""
    SELECT base, size FROM (SELECT base, size, bool_and(size < 185) OVER (ORDER BY base) AS walked FROM batches)
    WHERE walked ORDER BY base
"""))

# %% [markdown]
# A `WHERE` cannot contain a window, because SQL applies `WHERE` first. So the window is in an inner query, and the `WHERE` is in the outer one.
#
# ## Two functions

# %%
from minikafka.lessons.start.exercises import file_names, first_bytes

# %% [markdown]
# **Exercise 1, the file of an offset.** *Why: you know an offset, and you need the file that holds it.* Kafka's method is `LogSegments.floorSegment`.

# %%
def file_of(names, offset):
    """names: list of the names of all .log files of a partition, sorted. offset: an int; the log holds it.
    Returns the name of the file that holds this offset.

    Example: for the names of the segments 0, 20 and 35, file_of(names, 21) is "00000000000000000020.log".
    """
    return ___


file_names.check(file_of)

# %% [markdown]
# **Exercise 2, where a batch begins, in Spark.** *Why: offset indexes, reads and repairs of a damaged file all work with byte positions.* Kafka's
# `LogSegment.translateOffset` finds the same byte by going from batch to batch. `batches` is a DataFrame; `batches.sparkSession.sql("SELECT … FROM
# {batches}", batches=batches)` queries it.

# %%
def positions(batches):
    """batches: DataFrame of segment (base offset of the segment), base (base offset of the batch), size
    (bytes).
    Returns a DataFrame of two columns, sorted by base: base, and the byte of the segment's file at which the
    batch begins. The first byte of each file is byte 0.

    Example: the rows (0, 0, 100), (0, 3, 80), (5, 5, 90) give (0, 0), (3, 100), (5, 0).
    """
    return ___


first_bytes.check(positions)
