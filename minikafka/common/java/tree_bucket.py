"""A bucket of `JavaHashMap` with so many keys that Java keeps them in a red-black tree.

Such a bucket needs nine producer ids that share it in a map of 64 buckets or more: rare, but ids come in blocks of
1000, so it does happen. It matters here for one reason only: the tree changes the order in which the bucket is walked.
A new key stands right behind its parent in the tree, not at the end, and after each insertion the root of the tree
moves to the front. To know parents and roots the tree must be kept as Java keeps it, balance included.

Kafka: `java.util.HashMap.TreeNode`.
"""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from minikafka.common.java.java_hash import java_hash
from minikafka.common.java.java_numbers import to_int
from minikafka.common.topic_partition import TopicPartition

K = TypeVar("K", bound=int | str | TopicPartition)

LEFT, RIGHT = 0, 1


class _Node(Generic[K]):
    """A key in the tree: `child` is [left, right]; `rank` is what the tree is sorted by.

    Where Java has a null, a tree has its one `nil` node, which is black and of which nothing else is ever looked at.
    """

    __slots__ = ("key", "rank", "parent", "child", "red")

    def __init__(self, key: K, nil: "_Node[K] | None" = None):
        """A node on its own; without `nil`, it is the nil of a new tree (whose key means nothing)."""
        nothing = self if nil is None else nil
        self.key = key
        self.rank = _rank(key)
        self.parent = nothing
        self.child = [nothing, nothing]
        self.red = False

    @property
    def side(self) -> int:
        """LEFT or RIGHT: which child of its parent the node is."""
        return LEFT if self.parent.child[LEFT] is self else RIGHT


class TreeBucket(Generic[K]):
    """The keys of one bucket, iterated in the order in which Java walks them. Kafka: `HashMap.TreeNode`."""

    __slots__ = ("_order", "_nil", "_root")

    def __init__(self, keys: Iterable[K]):
        """Make a tree of a bucket whose `keys` (one at least) stand in that order. Kafka: `TreeNode.treeify`."""
        self._order = list(keys)
        first, *others = self._order
        self._nil = _Node(first)
        self._root = _Node(first, self._nil)
        for key in others:
            self._insert(key)
        self._move_root_to_front()

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[K]:
        return iter(self._order)

    def append(self, key: K) -> None:
        """Add `key`, behind its parent in the tree. Kafka: `TreeNode.putTreeVal`."""
        parent = self._insert(key)
        self._order.insert(self._order.index(parent) + 1, key)
        self._move_root_to_front()

    def remove(self, key: K) -> None:
        """Take `key` out; the rest keeps its order. Kafka: `TreeNode.removeTreeNode` as an iterator calls it."""
        self._order.remove(key)
        if self._order:
            self._delete(self._find(key))

    def _move_root_to_front(self) -> None:
        self._order.remove(self._root.key)
        self._order.insert(0, self._root.key)

    def _find(self, key: K) -> _Node[K]:
        rank = _rank(key)
        node = self._root
        while node.key != key:
            node = node.child[LEFT if rank < node.rank else RIGHT]
        return node

    def _insert(self, key: K) -> K:
        """Add a node for `key` to the tree; returns the key of the node that was its first parent."""
        node = _Node(key, self._nil)
        parent = self._root
        while (child := parent.child[side := LEFT if node.rank < parent.rank else RIGHT]) is not self._nil:
            parent = child
        parent.child[side] = node
        node.parent = parent
        self._balance_insertion(node)
        return parent.key

    def _balance_insertion(self, node: _Node[K]) -> None:
        """Colour and rotate until the tree with the new `node` is a red-black tree again.

        Java treats left and right as two cases; here `side` makes them one. Kafka: `TreeNode.balanceInsertion`.
        """
        node.red = True
        while True:
            parent = node.parent
            if parent is self._nil:
                node.red = False
                self._root = node
                return
            grandparent = parent.parent
            if not parent.red or grandparent is self._nil:
                return
            side = parent.side
            uncle = grandparent.child[1 - side]
            if uncle.red:
                uncle.red = parent.red = False
                grandparent.red = True
                node = grandparent
                continue
            if node is parent.child[1 - side]:
                self._rotate(parent, side)
                node, parent = parent, node
            parent.red = False
            grandparent.red = True
            self._rotate(grandparent, 1 - side)

    def _delete(self, node: _Node[K]) -> None:
        """Take `node` out of the tree. Kafka: the second half of `TreeNode.removeTreeNode`.

        A node with two children hands its place to the next larger one, which has at most one child.
        """
        if self._nil not in node.child:
            successor = node.child[RIGHT]
            while successor.child[LEFT] is not self._nil:
                successor = successor.child[LEFT]
            node.key, node.rank = successor.key, successor.rank
            node = successor
        only_child = node.child[RIGHT if node.child[LEFT] is self._nil else LEFT]
        if only_child is not self._nil:
            self._replace(node, only_child)
            if only_child.parent is self._nil:
                only_child.red = False
            if not node.red:
                self._balance_deletion(only_child)
        else:
            if not node.red:
                self._balance_deletion(node)
            self._replace(node, self._nil)

    def _balance_deletion(self, node: _Node[K]) -> None:
        """Make up for a black node that is missing above `node`. Kafka: `TreeNode.balanceDeletion`."""
        while node is not self._root:
            if node.red:
                node.red = False
                return
            parent, side = node.parent, node.side
            sibling = parent.child[1 - side]
            if sibling.red:
                sibling.red = False
                parent.red = True
                self._rotate(parent, side)
                sibling = parent.child[1 - side]
            if sibling is self._nil:
                node = parent
                continue
            near, far = sibling.child[side], sibling.child[1 - side]
            if not near.red and not far.red:
                sibling.red = True
                node = parent
                continue
            if not far.red:
                near.red = False
                sibling.red = True
                self._rotate(sibling, 1 - side)
                sibling = parent.child[1 - side]
                far = sibling.child[1 - side]
            sibling.red = parent.red
            far.red = False
            parent.red = False
            self._rotate(parent, side)
            return

    def _rotate(self, node: _Node[K], side: int) -> None:
        """Let `node` sink to `side` and its child on the other side rise into its place."""
        riser = node.child[1 - side]
        inner = riser.child[side]
        node.child[1 - side] = inner
        inner.parent = node
        self._replace(node, riser)
        if riser.parent is self._nil:
            riser.red = False
        riser.child[side] = node
        node.parent = riser

    def _replace(self, node: _Node[K], other: _Node[K]) -> None:
        """Put `other` in the place of `node`."""
        if node.parent is self._nil:
            self._root = other
        else:
            node.parent.child[node.side] = other
        other.parent = node.parent


def _rank(key: K) -> tuple[int, K]:
    """What the tree is sorted by: the hash, as a signed number, then the key."""
    return to_int(java_hash(key)), key
