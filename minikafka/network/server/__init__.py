"""The sockets of a broker: connections are accepted, requests are cut out of what arrives, answers are sent.

One thread does all of it, in one loop. What a request means is none of its business: whoever makes a `SocketServer`
gives it a function that takes a request's bytes.

In reading order:

- `socket_server_config`: where to listen, and the other settings of sockets.
- `connection_quotas`, `memory_pool`: how many connections there may be, and how much memory their requests may take.
- `kafka_channel`: one connection, with the request that is being read and the answer that is being sent.
- `loop_tasks`: what the loop does besides, such as answering who has waited long enough.
- `socket_server`: the loop.
"""
