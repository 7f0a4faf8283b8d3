"""Questions to the authorizer, in the forms in which handlers ask them."""

from collections.abc import Iterable, Sequence

from minikafka.broker.authorizer import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    AclOperation,
    Action,
    Authorizer,
    ResourceType,
)
from minikafka.network.request import Request


class AuthHelper:
    """Asks the authorizer; without one everything is allowed. Kafka: `kafka.server.AuthHelper`."""

    def __init__(self, authorizer: Authorizer | None = None):
        self._authorizer = authorizer

    def authorize(
        self,
        request: Request,
        operation: AclOperation,
        resource_type: ResourceType,
        resource_name: str = CLUSTER_NAME,
    ) -> bool:
        """Whether the request may do that. Kafka: `AuthHelper.authorize`."""
        if self._authorizer is None:
            return True
        return self._authorizer.authorize(request, [Action(operation, resource_type, resource_name)])[0]

    def authorize_by_resource_type(
        self, request: Request, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Whether it may do that to something of this type. Kafka: `AuthHelper.authorizeByResourceType`."""
        if self._authorizer is None:
            return True
        return self._authorizer.authorize_by_resource_type(request, operation, resource_type)

    def filter_by_authorized(
        self, request: Request, operation: AclOperation, resource_type: ResourceType, names: Iterable[str]
    ) -> set[str]:
        """Those names with which the request may do that; each is asked about once.

        Kafka: `AuthHelper.filterByAuthorized`.
        """
        if self._authorizer is None:
            return set(names)
        different = list(dict.fromkeys(names))
        allowed = self._authorizer.authorize(request, [Action(operation, resource_type, name) for name in different])
        return {name for name, is_allowed in zip(different, allowed, strict=True) if is_allowed}

    def authorized_operations(
        self, request: Request, resource_type: ResourceType, resource_name: str = CLUSTER_NAME
    ) -> int:
        """All that may be done to a resource, as a number with a bit for each.

        Kafka: `AuthHelper.authorizedOperations`.
        """
        supported = SUPPORTED_OPERATIONS[resource_type]
        allowed: Sequence[bool] = [True] * len(supported)
        if self._authorizer is not None:
            actions = [Action(operation, resource_type, resource_name) for operation in supported]
            allowed = self._authorizer.authorize(request, actions)
        return sum(1 << operation for operation, is_allowed in zip(supported, allowed, strict=True) if is_allowed)
