import Credentials
import NIOCore
import NIOHTTP1
import Wire

/// Judging a request by its head: is it well-formed, does its path exist, may its sender come in?
extension FrontHandler {
    func begin(_ head: HTTPRequestHead) {
        exchange = Exchange(head, now: .now())
        headBegan = nil
        generation += 1
        phase = .deciding
        do {
            try admit(head)
        } catch {
            refuse(error)
        }
    }

    private func admit(_ head: HTTPRequestHead) throws(APIError) {
        let facts = try RequestFacts(head)
        exchange.facts = facts
        exchange.origin = peer.origin(claiming: facts.forwarding)
        exchange.requestID = facts.requestID ?? loop.ids.requestID()
        exchange.traceparent = facts.traceparent.map { loop.ids.traceparent(within: $0) } ?? loop.ids.traceparent()
        if let excess {
            exchange.keepAlive = false
            throw excess
        }
        guard head.method != .CONNECT else {
            // After CONNECT, which would make this a tunnel, nothing more is decoded.
            exchange.keepAlive = false
            throw Refusal.methodNotAllowed
        }
        exchange.session = SessionID.tag(in: head.uri)
        // Before anything that costs more than a look-up: a flood of bad credentials is to be cheap. Who polls asks again
        // for each message that he gets, and must not be cut off for getting many.
        try count(edge.limits.address, addressKey, share: exchange.session == nil ? 1 : 10)
        if FieldValue.equals(head.uri, "*"), exchange.method == .options {
            respond(Answer(.noContent, fields: [("allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")]))
            return
        }
        let route = try route(of: head.uri)
        exchange.route = route
        // A service may have something of its own to say there, as tus has; a preflight is not about that.
        guard exchange.method != .options || !facts.isPreflight && route.methods.contains(.options) else {
            if route.answersCors, facts.isPreflight { dispatch() } else { answerOptions(of: route, head: head) }
            return
        }
        // A method that is no HTTP method of ours is the empty set, which any set contains.
        guard !exchange.method.isEmpty, route.methods.contains(exchange.method) else { throw Refusal.methodNotAllowed }
        if case .length(let length) = facts.framing, isTooLarge(length) { throw Refusal.bodyTooLarge }
        if route.isRegistration, exchange.method == .post { try count(edge.limits.register, addressKey) }
        if try takeTicket(facts.credential, of: head.uri) { return }
        if !route.open.contains(exchange.method), try !isKnown(facts.credential) { return }
        dispatch()
    }

    /// Counts the request against `limit`, where there is one, as one of `share` that count for one.
    private func count(
        _ limit: RateLimit?,
        _ key: @autoclosure () -> UInt64,
        share: UInt64 = 1
    ) throws(APIError) {
        guard let limit else { return }
        do {
            exchange.quota = try limit.admit(key(), share: share, now: exchange.started.uptimeNanoseconds)
        } catch {
            exchange.quota = error.quota
            throw error.refusal
        }
    }

    /// What limits know the client's address by.
    private var addressKey: UInt64 {
        let address = clientAddress
        if let known = knownAddress, known.address == address { return known.key }
        let key = ClientKey.address(address)
        knownAddress = (address, key)
        return key
    }

    func isTooLarge(_ bytes: Int) -> Bool {
        edge.configuration.bodyLimit > 0 && bytes > edge.configuration.bodyLimit
    }

    private func route(of target: String) throws(APIError) -> Route {
        guard target.utf8.count <= edge.configuration.targetLimit else { throw Refusal.targetTooLong }
        let found: Result<Route, APIError>? = target.utf8.withContiguousStorageIfAvailable { bytes in
            guard case .clean(let length) = RequestTarget.judge(bytes) else { return .failure(Refusal.target) }
            guard let route = edge.routes.route(of: UnsafeBufferPointer(rebasing: bytes[..<length])) else {
                return .failure(Refusal.notFound)
            }
            return .success(route)
        }
        guard let found else { throw Refusal.target }
        return try found.get()
    }

    /// Whether the credential was verified before; where an application's server may go, the services say.
    ///
    /// If not, its verification begins, and leads on when it is done.
    private func isKnown(_ credential: RequestFacts.Credential) throws(APIError) -> Bool {
        switch credential {
        case .none: throw Refusal.missingCredential
        case .unreadable: throw APIError.invalidToken
        case .bearer(let token), .session(let token):
            guard let identity = edge.credentials.cached(token, orServer: true) else {
                verify(token)
                return false
            }
            try count(edge.limits.user, ClientKey.user(identity.user))
            return true
        }
    }

    /// Takes the stream ticket out of the target.
    ///
    /// - Returns: Whether the ticket is the credential of this request: its verification has begun.
    private func takeTicket(_ credential: RequestFacts.Credential, of target: String) throws(APIError) -> Bool {
        let found = TicketParameter.find(in: target)
        guard found != .absent else { return false }
        guard exchange.isStream else {
            // It opens streams only, so no other route may see it.
            exchange.target = TicketParameter.removed(from: target)
            return false
        }
        guard credential == .none, case .value(let ticket) = found else { throw CredentialVerifier.invalidTicket }
        let path = TicketParameter.path(of: target)
        let credentials = edge.credentials
        dispatchOnceKnown { try await credentials.identify(ticket: ticket, for: path) }
        return true
    }

    private func verify(_ token: String) {
        let credentials = edge.credentials
        dispatchOnceKnown { try await credentials.identify(token, orServer: true) }
    }

    /// Dispatches the request when its credential has been verified.
    private func dispatchOnceKnown(_ verification: @escaping @Sendable () async throws -> Identity) {
        let current = generation
        loop.eventLoop.makeFutureWithTask(verification)
            .assumeIsolated()
            .whenComplete { [self] result in
                guard current == generation, phase == .deciding else { return }
                do throws(APIError) {
                    let identity = try result.mapError { $0 as? APIError ?? .internal }.get()
                    try count(edge.limits.user, ClientKey.user(identity.user))
                    dispatch()
                } catch {
                    refuse(error)
                }
                settle()
            }
    }

    private func answerOptions(of route: Route, head: HTTPRequestHead) {
        guard let facts = exchange.facts, facts.isPreflight else {
            respond(Answer(.noContent, fields: [("allow", route.allow)]))
            return
        }
        let requested = head.headers.first(name: "access-control-request-headers")
        let fields = edge.cors.preflight(for: route, origin: facts.origin, requestedHeaders: requested)
        respond(Answer(.noContent, fields: fields), isStamped: true)
    }

    /// Sends an admitted request on its way.
    private func dispatch() {
        guard let route = exchange.route else { return }
        switch route.owner {
        case .service(let service):
            exchange.service = service
            forward(to: service)
        case .gateway(let page): show(page)
        case .nobody: refuse(Refusal.notFound)
        }
    }

    private func show(_ page: OwnPage) {
        let current = generation
        switch edge.pages.answer(page, to: exchange.head, isDraining: loop.isDraining) {
        case .now(let answer): respond(answer)
        case .later(let work):
            loop.eventLoop.makeFutureWithTask(work).assumeIsolated().whenComplete { [self] result in
                guard current == generation, phase == .deciding else { return }
                switch result {
                case .success(let answer): respond(answer)
                case .failure: refuse(.internal)
                }
                settle()
            }
        }
    }
}
