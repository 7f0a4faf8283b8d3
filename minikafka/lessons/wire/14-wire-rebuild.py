# %% [markdown]
# # The wire: rebuild
#
# *Four functions to complete, and four methods to rewrite: three of the broker's sockets, one of its fetch sessions.*
#
# **Time:** an hour and twenty-five minutes: forty minutes for the functions, forty-five minutes for the rungs. **Before:** the lesson [The wire](14-wire.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `header_fields.hint()` gives one hint; each
# further call gives a plainer one. `header_fields.solution()` shows one way; for a rung it opens after your own first try.
#
# This notebook has its own kernel, so nothing from the lesson is defined here. Begin with the first cell. It takes a few seconds, because it starts
# Spark and Apache Kafka, which judge what you write.

# %%
from minikafka.lab import ___
from minikafka.lessons.wire.wire_witnesses import wake_witnesses

wake_witnesses()

# %% [markdown]
# ## Exercises
#
# In each exercise you complete a function. `check` calls it with several cases, compares the results with Spark's answers, and shows the first
# difference. The project's tests ask Kafka, too: its `RequestHeader` reads the same bytes, and its `SocketServer` gets the same requests.

# %%
from minikafka.lessons.wire.exercises import answer_times, header_fields, session_partitions, whole_requests

# %% [markdown]
# **Exercise 1, read a header.** *Why: to read a dump of a connection, and to see who asks for what.* The function does the work of Kafka's
# `RequestHeader.parse`. In a flexible header, tagged fields follow the client id: one byte with their number, and for each a byte with its tag, a
# byte with its size, and so many bytes. (In these cases each of them has one byte, as a small varint has.)

# %%
def read_header(request, first_flexible):
    """request: bytes of a request, without the four bytes of its size. first_flexible: dict, API key → the
    first version whose requests have a flexible header. Returns (API key, version, correlation id, client id,
    number of bytes of the header). The client id of a client without one (null) is "".

    Example: the bytes 00 12 00 00 00 00 00 01 00 04 and the letters shop, with {18: 3}, give (18, 0, 1, "shop",
    14).
    """
    return ___


header_fields.check(read_header)

# %% [markdown]
# **Exercise 2, whole requests, in Spark.** *Why: one packet may bring half a request, or five.* Kafka's method is
# `NetworkReceive.readFrom`. All requests are answered at once, so no connection is muted for long.
# `pieces.sparkSession.sql("SELECT … FROM {pieces} JOIN {requests} …", pieces=pieces, requests=requests)` queries the tables: names in braces are
# filled in.

# %%
def found_whole(pieces, requests):
    """pieces: DataFrame of connection, place (of the piece among all that arrive, from 0), bytes. requests:
    DataFrame of connection, number, size (in bytes, without the four bytes of the size itself). A connection's
    requests follow each other by their numbers.
    Returns a DataFrame of connection, number, place: after which piece the request is whole; ascending. One
    that is never whole is left out.

    Example: the pieces ('A', 0, 14), ('A', 1, 10) and the requests ('A', 1, 8), ('A', 2, 8) give ('A', 1, 0),
    ('A', 2, 1).
    """
    return ___


whole_requests.check(found_whole)

# %% [markdown]
# **Exercise 3, answers in order, in Spark.** *Why: to see what one slow request costs the requests behind it.* A connection has one request in work
# at a time. Different connections do not wait for each other.

# %%
def in_order(requests):
    """requests: DataFrame of connection, number (rising in the order in which the requests of a connection were
    sent), whole_ms (when its last byte has come), work_ms (how long the work takes). Returns a DataFrame of
    connection, number, handed_ms (when the work begins), answered_ms (when it ends); ascending by connection
    and number.

    Example: ('A', 1, 0, 8), ('A', 2, 3, 2) give ('A', 1, 0, 8), ('A', 2, 8, 10).
    """
    return ___


answer_times.check(in_order)

# %% [markdown]
# **Exercise 4, a fetch session's next partitions.** *Why: to know which partitions a consumer gets next when an answer has no room for all.* Kafka's
# methods are `FetchSession.update` and `FetchContext.IncrementalFetchContext.updateAndGenerateResponseData`. A reader continues its session. Of each
# partition the broker knows what it has told this reader: here the high watermark.

# %%
def next_partitions(session, named, forgotten, news):
    """session: list of the partitions (numbers) that the broker remembers, in the order in which it reads them.
    named: list of those that the request names, forgotten: list of those that it forgets. news: dict, partition
    → how many records were found (0: no record, but a new high watermark); a partition that is not in it has no
    news. Returns two lists: the partitions in the answer, in the order of the session; and the session's
    partitions in the order in which they are read next.

    Example: next_partitions([0, 1, 2], [], [], {1: 3}) is ([1], [0, 2, 1]).
    """
    return ___


session_partitions.check(next_partitions)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one method. minikafka's sockets then run with *your* function in place of their own. Clients send requests in pieces, or
# several at once, and bytes that are no requests; the broker answers, answers nothing, or closes. Kafka's own `SocketServer` gets the same bytes.
# Most workloads are drawn at random, and this page does not show them. After each operation these must be equal: the requests that were handed
# over, with the fields of their headers; the requests in work; the answers that each client has got; the connections that are open.
#
# If something differs, you see the shortest workload that was found, and the first quantity that differs. (`send A 2[:10]`: the first ten bytes of
# request 2 arrive on connection A.)

# %%
from minikafka.common.errors import InvalidRequestException
from minikafka.lessons.wire.rungs import frame, header, respond
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import BAD_BYTES

header

# %%
def read(cls, source):
    """cls: RequestHeader, made of api_key, api_version, correlation_id, client_id. source: a MessageBytes in
    front of the header. It has read_int(size in bytes), read_unsigned_varint(), and read_array(size in bytes).
    Returns the header; `source` is then in front of the body.
    """
    return ___


header.check(read)

# %%
from minikafka.network.server.kafka_channel import ChannelMuteState

frame

# %%
def receive(self, scratch):
    """self: a KafkaChannel. It has _request (a bytearray, or None), _received (how many of its bytes have
    come), _ahead (bytes that came behind the last request), _begin_request(), _read_into(room), which returns a
    number of bytes, waits_for_memory, and mute_state. scratch: room to read into, a memoryview. Returns a
    request (a bytearray without its size), or None.
    """
    return ___


frame.check(receive)

# %%
from minikafka.network.request import NoBytes

respond

# %%
def _respond(self, channel, answer):
    """self: the SocketServer. It has _close(channel), _unmute(channel), _is_active(channel), and
    _go_on_sending(channel, send). channel: a KafkaChannel with is_open and send(pieces). answer:
    NoBytes.NO_RESPONSE, NoBytes.CLOSE, or an answer with pieces. Returns None.
    """
    return ___


respond.check(_respond)

# %% [markdown]
# The last rung is about rule 5. A reader fetches in a session: `fetch 0 1 -2` names partitions 0 and 1, and forgets 2. Meanwhile `append 1 3` brings
# three records to partition 1, `mark 1` a high watermark, `delete 1` a log start; `fail 1` an error, until `heal 1`; `ask_another 1` a better replica
# to read from, `cut 1` a place where a follower must cut its log. Kafka's own `FetchManager` gets the same. After each fetch these must be equal: the
# partitions in the answer, and those that were read, in their order.

# %%
from minikafka.lessons.wire.rungs import news

news

# %%
def maybe_update_response_data(self, response):
    """self: a CachedPartition, what the broker remembers of one partition of a session. It has high_watermark
    and local_log_start_offset: what the reader knows, −1 for unknown. response: what was found in the partition
    now, with records (bytes), high_watermark, log_start_offset, preferred_read_replica, error_code, and
    diverging_epoch.epoch. Returns whether the answer must have the partition, a bool.
    """
    return ___


news.check(maybe_update_response_data)
