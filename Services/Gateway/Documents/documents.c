#include "GatewayDocuments.h"

// SwiftPM embeds a resource as a Swift array, which the compiler needs minutes for; `#embed` needs no measurable time.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char openapi[] = {
#embed "../../../docs/openapi.yaml"
};

static const unsigned char socket_events[] = {
#embed "../../../docs/socket-events.md"
};

struct gateway_document gateway_openapi(void) { return (struct gateway_document){openapi, sizeof openapi}; }

struct gateway_document gateway_socket_events(void) {
    return (struct gateway_document){socket_events, sizeof socket_events};
}
