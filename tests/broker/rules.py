"""An authorizer for tests."""


class Rules:
    """Whoever is not `User:admin` may do what stands in `allowed`: (operation, type of resource, name)."""

    def __init__(self):
        self.allowed = set()
        self.asked = []

    def authorize(self, request, actions):
        self.asked += actions
        return [request.principal == "User:admin" or tuple(action) in self.allowed for action in actions]

    def authorize_by_resource_type(self, request, operation, resource_type):
        return any(rule[:2] == (operation, resource_type) for rule in self.allowed)
