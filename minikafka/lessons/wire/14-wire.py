# %% [markdown]
# # The wire
#
# *Bytes on a connection: how a broker finds requests in them, and in which order it answers.*
#
# ## 1. The question
#
# **Time:** about fifty-five minutes to read, an hour and twenty-five minutes to rebuild. **Before:** *The produce path*.
#
# **Afterwards you can decide:** how many connections a client needs, and what its time-outs are worth.
#
# Client A sends two requests over one connection. The fetch (1) waits until there is a record. The metadata request (2) waits for nothing. Then client B sends a record. What goes wrong without a rule for A's connection? Here the broker reads the second request while the first one waits.

# %%
from minikafka.lab import ___, diagram, erratum, planted, predict, step_through
from minikafka.lessons.wire.connection_lanes import ConnectionLanes
from minikafka.lessons.wire.hand_run_broker import HandRunBroker
from minikafka.lessons.wire.request_bytes import field_named, in_versions
from minikafka.lessons.wire.session_boxes import FetchingReader
from minikafka.lessons.wire.wire_witnesses import by_minikafka, three_witnesses, wake_witnesses

with planted("a broker reads the next request while one is in work"):
    hasty = ConnectionLanes("Without a rule").send("A", "fetch")
wake_witnesses()
hasty.play()

# %%
with planted("a broker reads the next request while one is in work"):
    hasty.send("A", "metadata").send("B", "produce")
order = hasty.answers("A")

# %%
predict(
    "first-answer-without-rule",
    "Request 1 is the fetch, request 2 asks for metadata. To which request is the first answer that A gets? (its number)",
    ___,
    lambda: order[0],
)

# %% [markdown]
# Two ways. **Read:** predict, run, explain. **Rebuild:** the notebook beside it. A `___` is a blank for you to fill. Spark and Apache Kafka are starting; part 5 needs them.

# %%
hasty.play()

# %% [markdown]
# A client that expects answers in the order of its requests treats the metadata answer as records. (Kafka's Java client compares the numbers, and raises `CorrelationIdMismatchException`.) The same requests with the rule:

# %%
sound = ConnectionLanes("With the rule").send("A", "fetch").send("A", "metadata").send("B", "produce")
print("answers that A gets:", *sound.answers("A"))
sound.play()

# %% [markdown]
# The metadata request lay in the socket until the fetch was answered. **A broker works on one request of a connection at a time. So the answers come in the order of the requests.**
#
# ## 2. The picture

# %%
diagram("wire")

# %% [markdown]
# - **Frame:** four bytes of size, then that many bytes: one request, or one response.
# - **Header:** the first fields of a request. The API key says *what* is asked, the version says *how the rest is written*.
# - **Correlation id:** a number that the client chooses. The response carries it back.
# - **Muted:** the broker does not read this connection. Kafka's classes are `KafkaChannel`, `Selector` and `Processor`.
#
# ## 3. The rules
#
# 1. A size below 0, or above `socket.request.max.bytes`, closes the connection. So does a header that cannot be read.
# 2. A request is handed over when its last byte has arrived.
# 3. A connection has at most one request in work. It is muted until the answer has been sent, or until it is clear that there is none.
# 4. The answers of a connection come in the order of its requests.
# 5. An incremental fetch request names only partitions that are new, changed or forgotten. The response has only partitions with news.
#
# The next cell shows rules 1 to 4; rule 5 has a section of its own. (`send A 1[:20]`: the first 20 bytes of request 1 arrive.)

# %%
from minikafka.witness.connections.workload import ConnectionWorkload

lines = ["junk C negative", "send A 1[:20]", "send A 1[20:] 2", "answer 1", "answer 2"]
junk, cut, whole, first, second = by_minikafka(ConnectionWorkload.parse("\n".join(lines))).rows
print("rule 1: open connections", junk["open"])
print("rule 2: in work after 20 bytes", cut["in_work"], "after all", whole["in_work"])
print("rule 3: in work", whole["in_work"], "then", first["in_work"], "then", second["in_work"])
print("rule 4:", second["answered"])

# %% [markdown]
# ## 4. The source, walked
#
# ### A real client's request
#
# `confluent-kafka` is a real client (librdkafka, written in C). It runs in this notebook, and the Python broker beside it. The broker's loop runs only while a cell lets it. `until("PRODUCE")` stops when a produce request lies in the socket, unread.

# %%
broker = HandRunBroker("orders")
shop = broker.client()
broker.send(shop, b"first")
request = broker.until("PRODUCE")

# %%
predict(
    "first-api-asked",
    "Before this request the client called other APIs. Which API did it call first? (a name in capitals)",
    ___,
    lambda: broker.asked[0][0],
)

# %%
print(*(f"{api} version {version}" for api, version in broker.asked), sep="\n")
print(len(request), "bytes lie in the socket, with the API key", int.from_bytes(request[4:6]), "and the version", int.from_bytes(request[6:8]))

# %% [markdown]
# The client asks which APIs and versions the broker serves. For each API it takes the highest version that both know. Then it asks who leads `orders`, connects to the leader, and asks for the versions again (the list above leaves out repetitions).
#
# Now the loop goes round once, and the stepper records what it does. (The lesson *The produce path* walks what is below `KafkaApis`.)

# %%
WAY = {"SocketServer._read", "KafkaChannel.receive", "KafkaApis.handle", "SocketServer._unmute"}
walk = step_through(broker.turn, into=WAY, locals_of_interest={"request"})
walk.play()

# %%
broker.deliver(shop)
print(broker.values())

# %% [markdown]
# `receive` mutes the connection before any code reads the request. (Kafka's `Processor` has parsed it by then.) This broker has the only replica, so even the answer to `acks=all` need not wait: `KafkaApis.handle` sent it, and `_unmute` ran inside of `handle`.
#
# ### One request, many versions
#
# In the header of every version, two bytes hold the length of the client's id. From version 9 on a produce request is *flexible*: lengths are written differently, and a new field can be added at the end of any structure.

# %%
versions = in_versions(request, range(3, 14))

# %%
predict(
    "bytes-of-name-length",
    "Version 8 writes the length of the name orders in 2 bytes. In how many bytes does version 9 write it?",
    ___,
    lambda: field_named(versions.frames[6].data, "name length").size,
)

# %%
versions

# %% [markdown]
# A varint now holds the length plus one; 0 stands for null. In version 13 a topic's id of 16 bytes takes the place of its name. Versions 3 to 8 have the same bytes, but not the same *meaning*: a version may change only the response, or what a client may send (`zstd` from 7 on).
#
# (The slider shows the client's own request, with 1 for the correlation id.)

# %%
from minikafka.network.api_keys import ApiKeys

erratum(
    "A request with a flexible header gets a response with a flexible header",
    "the response to ApiVersions never has tagged fields in its header: its length must not change, so that every client can read it",
    f"request header version {ApiKeys.API_VERSIONS.request_header_version(4)}, response header version {ApiKeys.API_VERSIONS.response_header_version(4)}",
)

# %% [markdown]
# ### Who waits for whom
#
# A sends a fetch, and behind it two other requests. B asks for metadata.

# %%
lanes = ConnectionLanes("Two connections").send("A", "fetch", "metadata", "produce0").send("B", "metadata")
before = len(lanes.answers("A"))
lanes.play()

# %% [markdown]
# B does not wait for A. Now B sends a record. (`produce0` is a produce request with `acks=0`.)

# %%
lanes.send("B", "produce")
answers_more = len(lanes.answers("A")) - before

# %%
predict(
    "answers-when-record-comes",
    "How many answers does A get now?",
    ___,
    lambda: answers_more,
)

# %%
lanes.play()

# %% [markdown]
# The record completes the fetch. Its answer unmutes A; the next request is read, answered, and so on. `produce0` is appended and unmutes A without any answer.
#
# A request behind a long fetch waits as long as the fetch. So Kafka's consumer has a connection of its own to its group coordinator, although the same broker may lead its partitions: commits and heartbeats do not wait behind a fetch.

# %%
flood = ConnectionLanes("Five in flight").send("A", "fetch", "produce", "produce", "produce", "produce")
erratum(
    "With max.in.flight.requests.per.connection=5 a broker works on five requests of a client at once",
    "it works on one; the others wait in the socket or in the buffer of the connection",
    flood.frames[-1].lanes[0],
)

# %%
odd = ConnectionLanes("A version that the broker does not serve").send("A", "metadata").send("C", "old").send("A", "metadata")
erratum(
    "A request of a version that the broker does not serve is answered with UNSUPPORTED_VERSION",
    "only ApiVersions is. For any other API the broker closes the connection",
    "; ".join(map(str, odd.frames[-1].lanes)),
)

# %% [markdown]
# ### When nobody answers
#
# The broker gets a produce request and appends its record, but the answer is lost. The client waits (here for one second, `socket.timeout.ms`; in Java `request.timeout.ms`), then it acts by itself, until the broker answers. The cell takes a few seconds.

# %%
lost = HandRunBroker("orders")
lost.lose_an_answer()
payer = lost.client(socket_timeout_ms=1000)
lost.send(payer, b"paid")
lost.deliver(payer)

# %%
predict(
    "records-after-lost-answer",
    "The client has sent one record, and in the end reports success. How many records are in the log?",
    ___,
    lambda: len(lost.values()),
)

# %%
print(lost.values(), "by", lost.count["PRODUCE"], "produce requests")

# %% [markdown]
# The client cannot know whether the broker got the request. Here the connection is still muted, so the broker would read nothing else on it. The client closes it, opens another one, and sends the request again. An idempotent producer does the same, but the broker recognises its sequence number:

# %%
safe = HandRunBroker("orders")
safe.lose_an_answer()
payer = safe.client(socket_timeout_ms=1000, enable_idempotence=True)
safe.send(payer, b"paid")
safe.deliver(payer)
print(safe.values(), "by", safe.count["PRODUCE"], "produce requests")

# %% [markdown]
# ### A fetch session
#
# A consumer of a thousand partitions does not name all of them in each request. The broker remembers them in a **session**. A *full* fetch begins one; each later request counts its **epoch** up. A reader has three partitions, and fetches twice:

# %%
reader = FetchingReader(partitions=4)
reader.append(0, "a", "b")
full = reader.fetch(0, 1, 2)
quiet = reader.fetch()
print(full, quiet, sep="\n")

# %% [markdown]
# The second request names only partition 0, whose offset has moved. Nothing is new, so the answer is empty. Now partition 2 gets a record, and the reader fetches again:

# %%
reader.append(2, "c")
third = reader.fetch()

# %%
predict(
    "partitions-request-names",
    "How many partitions does this request name?",
    ___,
    lambda: len(third.named),
)

# %%
print(third)

# %% [markdown]
# The session grows when a request names a new partition, and shrinks when it forgets one. A request with a wrong epoch (a lost or repeated one) is refused, and the reader begins again with a full fetch.

# %%
grown = reader.fetch(3, forget=[0])
reader.append(1, "d", "e")
turned = reader.fetch()
refused = reader.fetch(epoch=2)
again = reader.fetch()
reader.play()

# %% [markdown]
# A partition that had records goes to the end of the session. When an answer is too small for all, the next one begins with others.
#
# ## 5. Three witnesses
#
# The same bytes go to **minikafka's** sockets and to **Apache Kafka's** own `SocketServer` in a JVM. **Spark** knows the lines, the size of each request, and one rule: a request is in work once its last byte is there and the one before it is done. `answer 1`: the handler answers request 1. `no_response 2`: request 2 is done, and its client expects no answer.

# %%
from minikafka.witness import agree

workload = ConnectionWorkload.parse("""
send A 1 2 3
send B 4[:10]
answer 1
send B 4[10:] 5
answer 4
no_response 2
answer 5
answer 3
""")
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %%
for operation, row in zip(workload, ours.rows):
    print(f"{operation!s:18} in work {row['in_work']!s:8} answered {dict(row['answered'])}")

# %% [markdown]
# `arrived` is what the handler was given, with the header as it was read: Spark does not know it, nor which connections are `open`. Now a planted bug: a connection is unmuted after an answer has been sent, and only then.

# %%
with planted("without an answer the connection stays muted"):
    sick = by_minikafka(workload)
found = agree(sick, spark, kafka)

# %%
predict(
    "missing-unmute-differs-after",
    "After which operation do the witnesses differ first? (Operations count from 0.)",
    ___,
    lambda: found.first_difference.operation,
)

# %%
answers_on_a = dict(sick.rows[-1]["answered"])["A"]

# %%
predict(
    "answers-with-missing-unmute",
    "With the bug, how many answers does the client of connection A get in the end?",
    ___,
    lambda: len(answers_on_a),
)

# %%
print(found.first_difference)
print("with the bug:", sick.rows[-1]["answered"])

# %% [markdown]
# Request 3 is never read. A client with `acks=0` would notice nothing until the buffers of both sockets are full: then it cannot send any more.
#
# ## 6. Exercises
#
# They have a notebook of their own: [The wire: rebuild](14-wire-rebuild.ipynb).

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | frames, headers, all versions of all messages | one thread reads, handles and sends; Kafka has acceptors, processors and handlers | TLS and SASL |
# | when a connection is muted and unmuted | no throttling; Kafka has three more states of a muted connection | quotas of clients |
# | what closes a connection | | several listeners, limits of connections |
#
# **A question to take along.** A consumer with a `fetch.max.wait.ms` of ten seconds on an idle topic also looks up offsets through the same client, and each look-up takes up to ten seconds. What do you check first?
#
# <details><summary>One answer</summary>
#
# Whether both go over one connection. The look-up lies unread behind a fetch that waits. Requests that must be quick need a connection of their own: another client, or a shorter wait.
#
# </details>

# %% [markdown]
# ### Card
#
# - A frame is four bytes of size, then that many bytes. A wrong size or an unreadable header closes this connection, and no other.
# - The header says what is asked and how the rest is written. A client asks for the versions first.
# - One request of a connection is in work; the connection is muted. What lies behind it waits unread, so answers come in the order of requests.
# - A client that gets no answer closes the connection and sends again: without idempotence, the log may hold the record twice.
# - An incremental fetch names what is new, changed or forgotten; its answer has only news.
#
# ![A request's way over a connection](../diagrams/wire.svg)
#
# | the request is | the broker | the connection |
# |:---|:---|:---|
# | incomplete | waits for more bytes | is read |
# | whole, and not answered | works on it | is muted |
# | answered | sends the answer | is read again |
# | of `acks=0`, and done | sends nothing | is read again |
# | too large, or not readable | sends nothing | is closed |

# %% [markdown]
# **Next:** back to [Start here](00-start-here.ipynb), which has a map of the course.
