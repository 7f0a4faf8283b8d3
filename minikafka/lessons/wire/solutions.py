"""One way to solve each exercise of the lesson *The wire*."""


def read_header(request, first_flexible):
    key, version = int.from_bytes(request[0:2]), int.from_bytes(request[2:4])
    correlation_id = int.from_bytes(request[4:8], signed=True)
    length = int.from_bytes(request[8:10], signed=True)
    end = 10 + max(length, 0)
    client_id = request[10:end].decode()
    if version >= first_flexible[key]:
        count, end = request[end], end + 1
        for _ in range(count):
            end += 2 + request[end + 1]
    return key, version, correlation_id, client_id, end


def found_whole(pieces, requests):
    return pieces.sparkSession.sql(
        """SELECT connection, number, min(place) AS place
           FROM (SELECT *, sum(size + 4) OVER (PARTITION BY connection ORDER BY number) AS end FROM {requests})
           JOIN (SELECT *, sum(bytes) OVER (PARTITION BY connection ORDER BY place) AS come FROM {pieces})
           USING (connection)
           WHERE come >= end
           GROUP BY connection, number ORDER BY connection, number""",
        pieces=pieces,
        requests=requests,
    )


def in_order(requests):
    return requests.sparkSession.sql(
        """WITH summed AS (
               SELECT *, sum(work_ms) OVER (PARTITION BY connection ORDER BY number) AS work FROM {requests}),
           answered AS (
               SELECT connection, number, work_ms,
                      work + max(whole_ms - (work - work_ms)) OVER (PARTITION BY connection ORDER BY number) AS answered
               FROM summed)
           SELECT connection, number, CAST(answered - work_ms AS INT) AS handed, CAST(answered AS INT) AS answered
           FROM answered ORDER BY connection, number""",
        requests=requests,
    )


def next_partitions(session, named, forgotten, news):
    now = [each for each in dict.fromkeys([*session, *named]) if each not in forgotten]
    answered = [each for each in now if each in news or each not in session]
    with_records = [each for each in now if news.get(each, 0) > 0]
    return answered, [each for each in now if each not in with_records] + with_records
