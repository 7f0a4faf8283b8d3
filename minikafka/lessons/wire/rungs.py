"""The ladder of the lesson *The wire*: the header, the frame and the mute, the way of an answer, a session's news."""

from minikafka.common.errors import InvalidRequestException
from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.harnesses import CONNECTIONS, SESSIONS
from minikafka.lab.rebuild.rung import Rung
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import BAD_BYTES, RequestHeader
from minikafka.network.request import NoBytes
from minikafka.network.server.kafka_channel import ChannelMuteState, InvalidReceiveException, KafkaChannel
from minikafka.network.server.socket_server import SocketServer
from minikafka.server.fetch_session import CachedPartition

_MANY_FORMS = "\n".join(f"send A {number}\nanswer {number}" for number in range(1, 31)) + "\n"
_REFUSED = "".join(
    f"junk {name} {kind}\nsend Z {number}\nanswer {number}\n"
    for number, (name, kind) in enumerate(
        zip("ABCDEFG", ("negative", "huge", "empty", "short", "unknown", "client", "controllers")), 1
    )
)
_IN_PIECES = (
    "send A 1[:2]\nsend A 1[2:4]\nsend A 1[4:9]\nsend A 1[9:]\nanswer 1\nsend A 2 3 4[:10]\nsend B 5[:1]\nanswer 2\n"
    "send B 5[1:] 6 7\nanswer 3\nanswer 5\nsend A 4[10:]\nno_response 6\nanswer 4\nanswer 7\n"
)
_ENDS = (
    "send A 1 2 3 4\nanswer 1\nno_response 2\nanswer 3\nsend B 5 6\nclose 5\nsend B 7\nno_response 4\nsend A 8 9\n"
    "answer 8\nanswer 9\nsend C 10\nno_response 10\nsend C 11\nanswer 11\n"
)


# Rung 1


def read(cls, source):
    try:
        api_key = ApiKeys.for_id(source.read_int(2))
        version = source.read_int(2)
        correlation_id = source.read_int(4)
        length = source.read_int(2)
        client_id = source.read_array(length).decode() if length >= 0 else ""
        if api_key.request_header_version(version) == 2:
            for _ in range(source.read_unsigned_varint()):
                source.read_unsigned_varint()
                source.read_array(source.read_unsigned_varint())
    except BAD_BYTES as error:
        raise InvalidRequestException("Error parsing request header.") from error
    return cls(api_key, version, correlation_id, client_id)


def _reads(*, flexible=2, null="", skips=True, key_first=True, sizes=True):
    """A version that misreads one of the fields."""

    def version(cls, source):
        try:
            first, second = source.read_int(2), source.read_int(2)
            key, number = (first, second) if key_first else (second, first)
            api_key = ApiKeys.for_id(key)
            correlation_id = source.read_int(4)
            length = source.read_int(2)
            client_id = source.read_array(length).decode() if length >= 0 else null
            if skips and api_key.request_header_version(number) >= flexible:
                for _ in range(source.read_unsigned_varint()):
                    source.read_unsigned_varint()
                    source.read_array(source.read_unsigned_varint() if sizes else 0)
        except BAD_BYTES as error:
            raise InvalidRequestException("unreadable") from error
        return cls(api_key, number, correlation_id, client_id)

    return version


header = Rung(
    "Rung 1, the header",
    RequestHeader.read,
    why="If a broker misreads one header, it misreads everything behind it: nothing else says where a field ends.",
    invariants=(
        "The fields are the API key (2 bytes), the version (2), the correlation id (4), the client id (2 bytes of "
        'length, then so many bytes). A length of −1 is null; the header then has the client id "".',
        "If `api_key.request_header_version(version)` is 2, tagged fields follow: their number, and for each a tag, a "
        "size, and so many bytes. Number, tag and size are unsigned varints. The broker skips them all.",
        "Bytes that cannot be read raise InvalidRequestException.",
        "Nothing is read behind the header.",
    ),
    chosen=(_MANY_FORMS, _REFUSED),
    profiles=({}, {"junk": 0.15}, {"split": 0.9}),
    returns=(RequestHeader,),
    harness=CONNECTIONS,
    solution=read,
    beliefs=(
        Belief(
            _reads(skips=False),
            "You stop behind the client id. A flexible header has tagged fields there, or at least their number, 0.",
        ),
        Belief(
            _reads(flexible=1),
            "You look for tagged fields in every header. Those of version 1 have none.",
        ),
        Belief(
            _reads(null=None),
            'You return None for a client without an id. Kafka\'s header has "" then.',
        ),
        Belief(
            _reads(sizes=False),
            "You do not skip the bytes of tagged fields. Their size says how many there are.",
        ),
        Belief(
            _reads(key_first=False),
            "You take the version for the API key. The key comes first.",
        ),
    ),
    hints=(
        "`source.read_int(2)` reads a signed number of two bytes, `source.read_unsigned_varint()` a varint, "
        "`source.read_array(size)` so many bytes.",
        "`ApiKeys.for_id(number)` finds the API, or raises IllegalArgumentException.",
        "Catch `BAD_BYTES` around all of it, and raise InvalidRequestException.",
        "`cls(api_key, version, correlation_id, client_id)` is the header.",
    ),
)


# Rung 2


def receive(self, scratch):
    if self._request is None:
        if not self._begin_request() and not self.waits_for_memory:
            self._ahead += scratch[: self._read_into(scratch)]
            self._begin_request()
    elif self._received < len(self._request):
        self._received += self._read_into(memoryview(self._request)[self._received :])
    if self._request is None or self._received < len(self._request):
        return None
    request, self._request = self._request, None
    self.mute_state = ChannelMuteState.MUTED_AND_RESPONSE_PENDING
    return request


def _receives(*, mutes=True, waits=True, keeps_ahead=True, looks_ahead=True):
    """A version that hands over too early, reads on, or loses bytes."""

    def version(self, scratch):
        if self._request is None:
            if not (looks_ahead and self._begin_request()) and not self.waits_for_memory:
                came = scratch[: self._read_into(scratch)]
                self._ahead += came
                if looks_ahead or came:
                    self._begin_request()
        elif self._received < len(self._request):
            self._received += self._read_into(memoryview(self._request)[self._received :])
        if self._request is None or (waits and self._received < len(self._request)):
            return None
        request, self._request = self._request, None
        if not keeps_ahead:
            self._ahead.clear()
        if mutes:
            self.mute_state = ChannelMuteState.MUTED_AND_RESPONSE_PENDING
        return request

    return version


frame = Rung(
    "Rung 2, the frame and the mute",
    KafkaChannel.receive,
    why="A connection is a stream of bytes without marks. Here it becomes requests, one at a time.",
    invariants=(
        "One call reads from the socket at most once.",
        "It returns a request when all bytes that its size announced have come, and None before.",
        "Bytes behind a request are kept, for the next call.",
        "When it returns a request, `mute_state` is MUTED_AND_RESPONSE_PENDING.",
    ),
    chosen=(_IN_PIECES, _REFUSED),
    profiles=({"split": 0.9}, {"split": 0.3, "junk": 0.1}, {"connections": 1}),
    returns=(bytearray, type(None)),
    raises=(EOFError, OSError, InvalidReceiveException),
    # which call returns a request depends on what has come when it reads
    compares_results=False,
    harness=CONNECTIONS,
    kafka="NetworkReceive.readFrom",
    solution=receive,
    beliefs=(
        Belief(
            _receives(mutes=False),
            "You do not mute the connection. The next request is then in work before this one is answered.",
        ),
        Belief(
            _receives(waits=False),
            "You hand a request over as soon as its size has come. The rest is zeros at that moment.",
        ),
        Belief(
            _receives(keeps_ahead=False),
            "You drop the bytes behind the request. They belong to the next one.",
        ),
        Belief(
            _receives(looks_ahead=False),
            "You look at the bytes that came ahead only when others come. The request in them waits until the client "
            "sends something else.",
        ),
    ),
    hints=(
        "`self._request` is the request that has begun, None if none has. `self._begin_request()` begins one if the "
        "bytes in `self._ahead` tell its size; it says whether it could.",
        "If none has begun: try `_begin_request()` first. If it cannot, and not `self.waits_for_memory`: read once, "
        "`self._ahead += scratch[: self._read_into(scratch)]`, and try again.",
        "If one has begun and is not complete, read into its rest: "
        "`self._received += self._read_into(memoryview(self._request)[self._received :])`.",
        "It is complete when `self._received == len(self._request)`. Then set `self._request` to None, mute, and "
        "return it.",
    ),
)


# Rung 3


def _respond(self, channel, answer):
    if not channel.is_open:
        return
    if answer is NoBytes.CLOSE:
        self._close(channel)
    elif answer is NoBytes.NO_RESPONSE:
        self._unmute(channel)
    else:
        self._is_active(channel)
        self._go_on_sending(channel, lambda: channel.send(answer.pieces))


def _responds(*, silent="unmute", closing="close", keeps_open=True):
    """A version that sends nothing, or something, at the wrong end."""

    def version(self, channel, answer):
        if not channel.is_open:
            return
        what = {NoBytes.CLOSE: closing, NoBytes.NO_RESPONSE: silent}.get(answer, "send")
        if what == "close":
            self._close(channel)
        elif what == "unmute":
            self._unmute(channel)
        elif what == "empty":
            self._go_on_sending(channel, lambda: channel.send([b"\0\0\0\0"]))
        elif what == "send":
            self._go_on_sending(channel, lambda: channel.send(answer.pieces))
            if not keeps_open:
                self._close(channel)

    return version


respond = Rung(
    "Rung 3, the way of an answer",
    SocketServer._respond,
    why="A connection that nobody unmutes is silent for ever, and its client sees nothing but a time-out.",
    invariants=(
        "A connection that is closed by now gets nothing.",
        "NO_RESPONSE sends nothing and unmutes the connection: its next request is read.",
        "CLOSE closes the connection.",
        "Any other answer is sent. The connection is unmuted when the last byte has gone out; `_go_on_sending` does "
        "that.",
    ),
    chosen=(_ENDS, _IN_PIECES),
    profiles=({}, {"connections": 2, "split": 0.2}, {"connections": 5}),
    returns=(type(None),),
    harness=CONNECTIONS,
    kafka="Processor.processNewResponses",
    solution=_respond,
    beliefs=(
        Belief(
            _responds(silent="nothing"),
            "You leave the connection muted where there is no answer to send. Its next request is never read.",
        ),
        Belief(
            _responds(closing="unmute"),
            "You keep a connection open that must be closed. It is the only sign of a failure that a client with "
            "acks=0 can get.",
        ),
        Belief(
            _responds(silent="empty"),
            "You send an empty answer for NO_RESPONSE. The client takes it for the answer to its next request.",
        ),
        Belief(
            _responds(keeps_open=False),
            "You close the connection after each answer. Kafka's connections stay open.",
        ),
        Belief(
            _responds(silent="close"),
            "You close the connection after a success with acks=0. That is how a failure is told.",
        ),
    ),
    hints=(
        "`answer is NoBytes.CLOSE` and `answer is NoBytes.NO_RESPONSE` tell the answers without bytes.",
        "`self._close(channel)` closes, `self._unmute(channel)` unmutes.",
        "`self._go_on_sending(channel, lambda: channel.send(answer.pieces))` sends, and unmutes when all has gone out.",
    ),
)


# Rung 4

_NEWS = """
fetch 0 1 2
fetch
append 1 3
mark 2
fetch
fetch
delete 0
fetch 3
fetch
fail 1
fetch
fetch
heal 1
fetch
fetch
ask_another 2
fetch
cut 3
fetch
append 0 2
fetch -2
append 2 1
fetch
fetch 2
fetch
"""
# A high watermark of 0 after an error; records that no follower has yet.
_LITTLE_NEWS = """
fetch 0 1
fetch
fail 0
fetch
heal 0
fetch
append_unreplicated 1 2
fetch
fetch
"""


def maybe_update_response_data(self, response):
    known = self.high_watermark, self.local_log_start_offset
    self.high_watermark, self.local_log_start_offset = response.high_watermark, response.log_start_offset
    is_news = (
        bool(response.records)
        or known != (response.high_watermark, response.log_start_offset)
        or response.preferred_read_replica != -1
        or response.error_code != 0
        or response.diverging_epoch.epoch >= 0
    )
    if response.error_code != 0:
        self.high_watermark = -1
    return is_news


def _updates(
    *,
    marks=True,
    starts=True,
    remembers=True,
    also_with_records=True,
    forgets_with_error=True,
    elsewhere=True,
    cuts=True,
):
    """A version that keeps something from the reader, or tells it again."""

    def version(self, response):
        is_news = bool(response.records)
        if also_with_records or not is_news:
            is_news |= marks and self.high_watermark != response.high_watermark
            is_news |= starts and self.local_log_start_offset != response.log_start_offset
            if remembers:
                self.high_watermark, self.local_log_start_offset = response.high_watermark, response.log_start_offset
        is_news |= elsewhere and response.preferred_read_replica != -1
        is_news |= cuts and response.diverging_epoch.epoch >= 0
        if response.error_code != 0:
            is_news = True
            if forgets_with_error:
                self.high_watermark = -1
        return bool(is_news)

    return version


news = Rung(
    "Rung 4, a fetch session's next partitions",
    CachedPartition.maybe_update_response_data,
    why="This decides which partitions of a session an answer has. What it leaves out, the reader never hears of.",
    invariants=(
        "The result is True if the reader must be told of `response`: records; a high watermark or a log start that it "
        "does not know; another replica to read from; an error; a place where it must cut its log.",
        "`self.high_watermark` and `self.local_log_start_offset` are what the reader knows. Afterwards they are those "
        "of `response`, also when it has records.",
        "With an error, `self.high_watermark` is −1 afterwards. So the partition is told again once the error is over.",
    ),
    chosen=(_NEWS, _LITTLE_NEWS),
    profiles=({}, {"partitions": 2, "fetches": 0.5}, {"partitions": 7}, {"partitions": 1}),
    returns=(bool,),
    harness=SESSIONS,
    solution=maybe_update_response_data,
    beliefs=(
        Belief(
            _updates(marks=False),
            "You leave out a partition of which only the high watermark is new. Its reader waits for it: a follower's "
            "high watermark is the leader's.",
        ),
        Belief(
            _updates(starts=False),
            "You leave out a partition of which only the log start is new. A follower would keep records that the "
            "leader has deleted.",
        ),
        Belief(
            _updates(remembers=False),
            "You do not note what the reader knows by now. It is told the same again and again.",
        ),
        Belief(
            _updates(also_with_records=False),
            "With records you do not note the high watermark and the log start. The next answer tells them once more.",
        ),
        Belief(
            _updates(forgets_with_error=False),
            "After an error the reader is not told that it is over. Set `self.high_watermark` to −1, so that the next "
            "answer has the partition.",
        ),
        Belief(
            _updates(elsewhere=False),
            "You forget `preferred_read_replica`. A consumer that should ask a nearer replica never hears of it.",
        ),
        Belief(
            _updates(cuts=False),
            "You forget `diverging_epoch`. A follower that has to cut its log never hears of it.",
        ),
    ),
    hints=(
        "`bool(response.records)` is the first reason. No reason ends the method early: the rest must still be noted.",
        "`self.high_watermark != response.high_watermark` is a reason; then note it. The same for "
        "`self.local_log_start_offset` and `response.log_start_offset`.",
        "`response.preferred_read_replica` is −1 for none, `response.error_code` is 0 for none, and "
        "`response.diverging_epoch.epoch` is −1 for none.",
        "With an error, set `self.high_watermark = -1` after you have noted that of the response.",
    ),
)

LADDER = (header, frame, respond, news)
"""The rungs in the order in which they are climbed."""
