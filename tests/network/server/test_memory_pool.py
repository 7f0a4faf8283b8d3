"""How much memory requests may take. Kafka: `SimpleMemoryPool`, not strict."""

from minikafka.network.server.memory_pool import MemoryPool


def test_as_long_as_a_byte_is_left_a_request_gets_all_that_it_needs():
    pool = MemoryPool(10)
    assert pool.try_allocate(9) and not pool.is_out_of_memory
    assert pool.try_allocate(100) and pool.is_out_of_memory
    assert not pool.try_allocate(1)
    pool.release(100)
    assert not pool.is_out_of_memory and pool.try_allocate(1) and pool.is_out_of_memory


def test_without_a_limit_there_is_always_enough():
    pool = MemoryPool(0)
    assert all(pool.try_allocate(1 << 40) for _ in range(3)) and not pool.is_out_of_memory
