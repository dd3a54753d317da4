import Credentials
import NIOCore
import NIOHTTP1
import Wire

/// Admission of a request by its head: syntax, limits, route and credential.
extension ProxyHandler {
    func receiveHead(_ head: HTTPRequestHead) {
        request = ProxiedRequest(head, now: .now())
        headBegan = nil
        generation += 1
        phase = .preparing
        do {
            try admit(head)
        } catch {
            refuse(error)
        }
    }

    private func admit(_ head: HTTPRequestHead) throws(APIError) {
        let parsedHead = try ParsedRequestHead(head)
        request.parsedHead = parsedHead
        request.origin = peer.origin(claiming: parsedHead.forwarding)
        request.requestID = parsedHead.requestID ?? loop.ids.requestID()
        request.traceparent = parsedHead.traceparent.map { loop.ids.traceparent(within: $0) } ?? loop.ids.traceparent()
        if let limitError {
            request.keepAlive = false
            throw limitError
        }
        guard head.method != .CONNECT else {
            // CONNECT would make the connection a tunnel, so nothing after it is decoded.
            request.keepAlive = false
            throw GatewayError.methodNotAllowed
        }
        request.session = SessionID.tag(in: head.uri)
        // The address limit comes before every step that costs more than a lookup, so a flood of bad credentials is
        // cheap. Ten polls count as one request, because a client polls again after each message.
        try count(state.limits.address, addressKey, share: request.session == nil ? 1 : 10)
        if FieldValue.equals(head.uri, "*"), request.method == .options {
            respond(GatewayResponse(.noContent, fields: [("allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")]))
            return
        }
        let route = try route(of: head.uri)
        request.route = route
        // A service may respond to OPTIONS itself, as tus does, but not to a preflight.
        guard request.method != .options || !parsedHead.isPreflight && route.methods.contains(.options) else {
            if route.handlesCORS, parsedHead.isPreflight { dispatch() } else { answerOptions(of: route, head: head) }
            return
        }
        // An unsupported method is the empty set, which every set contains.
        guard !request.method.isEmpty, route.methods.contains(request.method) else {
            throw GatewayError.methodNotAllowed
        }
        if case .length(let length) = parsedHead.framing, isTooLarge(length) {
            throw APIError.tooLarge(limit: state.configuration.bodyLimit)
        }
        if route.isRegistration, request.method == .post { try count(state.limits.register, addressKey) }
        if try takeTicket(parsedHead.credential, of: head.uri) { return }
        if !route.open.contains(request.method), try !isVerified(parsedHead.credential) { return }
        dispatch()
    }

    func isTooLarge(_ bytes: Int) -> Bool {
        state.configuration.bodyLimit > 0 && bytes > state.configuration.bodyLimit
    }

    private func route(of target: String) throws(APIError) -> Route {
        let limit = state.configuration.targetLimit
        guard target.utf8.count <= limit else { throw GatewayError.targetTooLong(limit: limit) }
        let found: Result<Route, APIError>? = target.utf8.withContiguousStorageIfAvailable { bytes in
            guard case .clean(let length) = RequestTarget.validate(bytes) else { return .failure(GatewayError.target) }
            guard let route = state.routes.route(of: UnsafeBufferPointer(rebasing: bytes[..<length])) else {
                return .failure(GatewayError.notFound)
            }
            return .success(route)
        }
        guard let found else { throw GatewayError.target }
        return try found.get()
    }

    /// Returns whether the credential has been verified before.
    ///
    /// Otherwise its verification starts, and the request is dispatched when the verification completes. The services
    /// decide where an application's server token is allowed.
    private func isVerified(_ credential: ParsedRequestHead.Credential) throws(APIError) -> Bool {
        switch credential {
        case .none: throw GatewayError.authenticationRequired
        case .unreadable: throw APIError.invalidToken
        case .bearer(let token), .session(let token):
            guard let identity = state.credentials.cached(token, allowingServer: true) else {
                verify(token)
                return false
            }
            try count(state.limits.user, ClientKey.user(identity.user))
            return true
        }
    }

    /// Handles the stream ticket of the target.
    ///
    /// - Returns: Whether the ticket is the credential of this request; its verification has then started.
    private func takeTicket(_ credential: ParsedRequestHead.Credential, of target: String) throws(APIError) -> Bool {
        let found = TicketParameter.find(in: target)
        guard found != .absent else { return false }
        guard request.isStream else {
            // A ticket opens event streams only, so no other route receives it.
            request.target = TicketParameter.removed(from: target)
            return false
        }
        guard credential == .none, case .value(let ticket) = found else { throw CredentialVerifier.invalidTicket }
        let path = TicketParameter.path(of: target)
        let credentials = state.credentials
        dispatchWhenVerified { try await credentials.identify(ticket: ticket, for: path) }
        return true
    }

    private func verify(_ token: String) {
        let credentials = state.credentials
        dispatchWhenVerified { try await credentials.identify(token, allowingServer: true) }
    }

    private func dispatchWhenVerified(_ verification: @escaping @Sendable () async throws -> Identity) {
        let current = generation
        loop.eventLoop.makeFutureWithTask(verification)
            .assumeIsolated()
            .whenComplete { [self] result in
                guard current == generation, phase == .preparing else { return }
                do throws(APIError) {
                    let identity = try result.mapError { $0 as? APIError ?? .internal }.get()
                    try count(state.limits.user, ClientKey.user(identity.user))
                    dispatch()
                } catch {
                    refuse(error)
                }
                flushAndRead()
            }
    }

    private func answerOptions(of route: Route, head: HTTPRequestHead) {
        guard let parsedHead = request.parsedHead, parsedHead.isPreflight else {
            respond(GatewayResponse(.noContent, fields: [("allow", route.allow)]))
            return
        }
        let requested = head.headers.first(name: "access-control-request-headers")
        let fields = state.cors.preflight(for: route, origin: parsedHead.origin, requestedHeaders: requested)
        respond(GatewayResponse(.noContent, fields: fields), hasCORSFields: true)
    }

    private func dispatch() {
        guard let route = request.route else { return }
        switch route.owner {
        case .service(let service):
            request.service = service
            forward(to: service)
        case .gateway(let page): show(page)
        case .unassigned: refuse(GatewayError.notFound)
        }
    }

    private func show(_ page: GatewayPage) {
        let current = generation
        switch state.pages.response(page, to: request.head, isDraining: loop.isDraining) {
        case .now(let response): respond(response)
        case .later(let work):
            loop.eventLoop.makeFutureWithTask(work).assumeIsolated().whenComplete { [self] result in
                guard current == generation, phase == .preparing else { return }
                switch result {
                case .success(let response): respond(response)
                case .failure: refuse(.internal)
                }
                flushAndRead()
            }
        }
    }
}
