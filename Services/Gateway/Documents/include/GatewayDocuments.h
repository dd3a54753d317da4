#ifndef GATEWAY_DOCUMENTS_H
#define GATEWAY_DOCUMENTS_H

#include <stddef.h>

/// A document that the gateway serves, embedded at build time.
struct gateway_document {
    const unsigned char *_Nonnull bytes;
    size_t size;
};

/// Returns docs/openapi.yaml.
struct gateway_document gateway_openapi(void);
/// Returns docs/socket-events.md.
struct gateway_document gateway_socket_events(void);

#endif
