# %% [markdown]
# # Start here: rebuild
#
# *A page on SQL windows, and two functions to complete.*
#
# **Time:** half an hour for the page on windows and the functions. **Before:** the lesson [Start here](00-start-here.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill. `check` says *correct*, *not attempted*, or *not yet*, with the first difference; each call of `hint()`
# reveals a little more; `solution()` shows one way. This notebook has a kernel of its own, which knows nothing of what ran in the lesson: begin
# with the first cell. It takes a few seconds, because it wakes Spark, which judges what you write.

# %%
from minikafka.lab import ___, answer, copied_log, wake_witnesses

wake_witnesses()

# %% [markdown]
# ## SQL windows, if you need them
#
# Each lesson has exercises that are answered by a query in Spark, and most of these queries have a **window**: a row that knows about other rows. If `sum(…) OVER (…)` is an
# old friend, go on to the exercises. Our table has a row for each batch in the first two segments of `orders-0`.

# %%
from minikafka.lab.exercises.witnessed import frame
from minikafka.spark import session

sql, orders = session().sql, copied_log("data/orders-0")
rows = [(segment.base_offset, batch.base_offset, batch.size_in_bytes) for segment in orders.log_segments[:2] for batch in segment.log.batches()]
frame(rows, "segment BIGINT, base BIGINT, size BIGINT").createOrReplaceTempView("batches")
answer(sql("SELECT * FROM batches ORDER BY base"))

# %% [markdown]
# `GROUP BY` makes one row of many. A window keeps every row, and lets it see others: `OVER (PARTITION BY segment)` those with the same segment, `OVER ()` all of them.

# %%
answer(sql("""
    SELECT base, size, sum(size) OVER (PARTITION BY segment) AS of_its_segment, sum(size) OVER () AS of_all
    FROM batches ORDER BY base
"""))

# %% [markdown]
# With `ORDER BY` inside, a row sees the rows up to its own: sums grow, `max` is *the largest so far*, `row_number` counts. (`ORDER BY` at the end of the query only
# sorts what is shown.) `lag(…)` is the value one row before, null where there is none.

# %%
answer(sql("""
    SELECT base, size, row_number() OVER w AS nth, sum(size) OVER w AS so_far, max(size) OVER w AS largest, lag(size) OVER w AS before
    FROM batches WINDOW w AS (PARTITION BY segment ORDER BY base) ORDER BY base
"""))

# %% [markdown]
# Which rows a row sees is the window's **frame**. You may set it: `ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING` ends before the row itself. Without a frame, rows that
# the `ORDER BY` does not tell apart see each other, too. Below, two windows go by the size in tens of bytes; only one of them counts row by row.

# %%
answer(sql("""
    SELECT base, size DIV 10 AS tens, count(*) OVER (ORDER BY size DIV 10) AS with_equals,
           count(*) OVER (ORDER BY size DIV 10, base ROWS UNBOUNDED PRECEDING) AS row_by_row
    FROM batches ORDER BY tens, base
"""))

# %% [markdown]
# And the pattern that many of Kafka's walks need: go on from the start, stop at the first *no*. `bool_and` over all rows so far stays true up to there. These are the batches
# before the first one of 185 bytes or more:

# %%
answer(sql("""
    SELECT base, size FROM (SELECT base, size, bool_and(size < 185) OVER (ORDER BY base) AS walked FROM batches)
    WHERE walked ORDER BY base
"""))

# %% [markdown]
# A window cannot stand in a `WHERE`, which chooses rows before windows look at them. Hence the query inside the query.
#
# ## Two functions

# %%
from minikafka.lessons.start.exercises import file_names, first_bytes

# %% [markdown]
# **Exercise 1, the file of an offset.** *Why: somebody names an offset, and you have a directory.*

# %%
def file_of(names, offset):
    """names: of all .log files, sorted; offset: one that is in the log. Returns the name of the file in which it lies."""
    return ___


file_names.check(file_of)

# %% [markdown]
# **Exercise 2, where a batch begins, in Spark.** *Why: an index, a broker that reads and a tool that cuts a damaged file all speak of bytes.*
# `batches` is a DataFrame; `batches.sparkSession.sql("SELECT … FROM {batches}", batches=batches)` queries it.

# %%
def positions(batches):
    """batches: DataFrame of segment, base, size in bytes. Returns a DataFrame: base, and the byte of the segment's file at which the
    batch begins; sorted by base."""
    return ___


first_bytes.check(positions)
