# %% [markdown]
# # The wire: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.wire.exercises import answer_times, header_fields, session_partitions, whole_requests

# %% [markdown]
# **Exercise 1, read a header.** `max(length, 0)` treats null as an empty name. A tagged field is skipped by its size.

# %%
header_fields.check(read_header)

# %% [markdown]
# **Exercise 2, whole requests.** Two running sums: where each request ends in its stream, and how far the stream has come.

# %%
whole_requests.check(found_whole)

# %% [markdown]
# **Exercise 3, answers in order.** A request is answered after its own work and that of all requests since the last moment at which the connection
# was free. The largest of the sums finds that moment without recursion.

# %%
answer_times.check(in_order)

# %% [markdown]
# **Exercise 4, a fetch session's next partitions.** `dict.fromkeys` keeps the first place of each partition. What is not in the old session is new.

# %%
session_partitions.check(next_partitions)

# %% [markdown]
# ### The rungs
#
# Rung 1 reads the fields one after the other. Whatever cannot be read becomes one kind of exception, which closes the connection.

# %%
from minikafka.common.errors import InvalidRequestException
from minikafka.lessons.wire.rungs import frame, header, respond
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import BAD_BYTES

header.check(read)

# %% [markdown]
# Rung 2 looks at the bytes that came ahead before it reads. It mutes the connection before anybody has looked into the request.

# %%
from minikafka.network.server.kafka_channel import ChannelMuteState

frame.check(receive)

# %% [markdown]
# Rung 3 has three ways out, and each of them leaves the connection closed or unmuted in the end.

# %%
from minikafka.network.request import NoBytes

respond.check(_respond)

# %% [markdown]
# Rung 4 notes what the reader will know, whatever the reason is for which it is told.

# %%
from minikafka.lessons.wire.rungs import news

news.check(maybe_update_response_data)
