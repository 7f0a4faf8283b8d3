"""One way to solve the exercise of the lesson *From an offset to bytes*."""


def answer(batches, start, max_length, min_one_message, bound):
    wanted = [(base, size) for base, last, size in batches if last >= start and base < bound]
    first, first_size = wanted[0]
    limit = max(max_length, first_size) if min_one_message else max_length
    return first, min(limit, sum(size for _, size in wanted))
