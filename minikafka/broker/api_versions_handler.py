"""ApiVersions, key 18, versions 0–4: which APIs a broker serves, in which versions. Clients ask this first.

What Kafka does:

- A version that it does not know is answered in version 0, with UNSUPPORTED_VERSION and the versions of ApiVersions.
- From version 3 on a client says its name and version, in letters and digits, with `-` and `.` inside; anything else is
  an INVALID_REQUEST.
- Versions that are not released are not told. Of Produce the versions from 0 on are told, though 0 to 2 are gone.
- The header of the answer has no tagged fields in any version.

Versions: 3 has tagged fields and the client's name, 4 may tell of features whose lowest version is 0.
"""

import re
from collections.abc import Callable, Iterable

from minikafka.common.error_codes import Errors
from minikafka.messages.apis import ApiVersionsRequest, ApiVersionsResponse
from minikafka.network.api_key_base import PRODUCE_API_VERSIONS_RESPONSE_MIN_VERSION
from minikafka.network.api_keys import ApiKeys
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel

_SOFTWARE_NAME_VERSION = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class ApiVersionsHandler:
    """Tells what is served. Kafka: `KafkaApis.handleApiVersionsRequest`."""

    def __init__(self, request_channel: RequestChannel, served: Callable[[], Iterable[ApiKeys]]):
        """`served()`: the APIs with a handler, in the order in which clients are told of them."""
        self._request_channel = request_channel
        self._served = served

    def handle_api_versions_request(self, request: Request) -> None:
        """Tell which APIs are served, in which versions; a version that is unknown itself is told that.

        Simpler than Kafka: there are no features, of which Kafka tells here, too.
        Kafka: `KafkaApis.handleApiVersionsRequest`.
        """
        body, header = request.body_of(ApiVersionsRequest), request.header
        if not header.is_api_version_supported:
            self._request_channel.send_error_response(request, Errors.UNSUPPORTED_VERSION)
            return
        software = (body.client_software_name, body.client_software_version)
        if header.api_version >= 3 and not all(_SOFTWARE_NAME_VERSION.fullmatch(text) for text in software):
            self._request_channel.send_error_response(request, Errors.INVALID_REQUEST)
            return
        response = ApiVersionsResponse()
        for api_key in self._served():
            lowest, highest = api_key.stable_versions
            if api_key is ApiKeys.PRODUCE:
                lowest = PRODUCE_API_VERSIONS_RESPONSE_MIN_VERSION
            response.api_keys.append(
                ApiVersionsResponse.ApiVersion(api_key=api_key, min_version=lowest, max_version=highest)
            )
        self._request_channel.send_response(request, response)
