#ifndef GATEWAY_DOCUMENTS_H
#define GATEWAY_DOCUMENTS_H

#include <stddef.h>

/// A document that the gateway serves, as it was when the gateway was built.
struct gateway_document {
    const unsigned char *_Nonnull bytes;
    size_t size;
};

/// docs/openapi.yaml.
struct gateway_document gateway_openapi(void);
/// docs/socket-events.md.
struct gateway_document gateway_socket_events(void);

#endif
