package import Credentials
import Foundation
package import Hummingbird
import Logging
import NIOCore
package import Wire

/// What a request carries with it on every route.
package struct SuiteContext: RequestContext, RemoteAddressRequestContext {
    package var coreContext: CoreRequestContextStorage
    package var requestID = ""
    /// Who asks, where a good credential came along; on an open route a bad one is as none.
    package var identity: Identity?
    /// The peer of the connection: the gateway, or a client that came straight here.
    package let remoteAddress: SocketAddress?

    package init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        remoteAddress = source.channel.remoteAddress
    }

    package var requestDecoder: WireRequestDecoder { WireRequestDecoder(limits: .open) }
    package var responseEncoder: WireResponseEncoder { WireResponseEncoder() }
    package var maxUploadSize: Int { JSONLimits.open.bytes }
}

/// The context of routes that somebody known asks at.
package protocol IdentifiedContext: RequestContext {
    var requestID: String { get }
    var identity: Identity { get }
}

/// The context of routes for someone signed in.
package struct UserContext: ChildRequestContext, IdentifiedContext {
    package var coreContext: CoreRequestContextStorage
    package let requestID: String
    package let identity: Identity
    package let remoteAddress: SocketAddress?

    /// - Throws: `forbidden` for nobody, and for an application's server.
    package init(context: SuiteContext) throws {
        guard let identity = context.identity else {
            throw APIError(.forbidden, "authentication_required", "a credential is needed")
        }
        guard !identity.isServer else {
            throw APIError(.forbidden, "user_required", "this is for people, and not for an application's server")
        }
        coreContext = context.coreContext
        requestID = context.requestID
        self.identity = identity
        remoteAddress = context.remoteAddress
    }

    package var user: User.ID { identity.user }

    /// - Throws: `forbidden` for whoever is no administrator.
    package func requireAdmin() throws {
        guard identity.isAdmin else { throw APIError(.forbidden, "admin_required", "this is for administrators alone") }
    }

    package var requestDecoder: WireRequestDecoder { WireRequestDecoder(limits: .body) }
    package var responseEncoder: WireResponseEncoder { WireResponseEncoder() }
    package var maxUploadSize: Int { JSONLimits.body.bytes }
}

/// The context of routes for an application's own server, and for the suite's administrators.
package struct ServerContext: ChildRequestContext, IdentifiedContext {
    package var coreContext: CoreRequestContextStorage
    package let requestID: String
    package let identity: Identity

    /// - Throws: `forbidden` for anybody else.
    package init(context: SuiteContext) throws {
        guard let identity = context.identity, identity.isServer || identity.isAdmin else {
            throw APIError(
                .forbidden,
                "server_required",
                "this is for an application's server, by a token of its encryption key, and for administrators"
            )
        }
        coreContext = context.coreContext
        requestID = context.requestID
        self.identity = identity
    }

    /// Whose people it may do something for: a server its own application's, an administrator Roost's.
    package var application: String { identity.user.application }

    package var isAdmin: Bool { identity.isAdmin }

    package var requestDecoder: WireRequestDecoder { WireRequestDecoder(limits: .body) }
    package var responseEncoder: WireResponseEncoder { WireResponseEncoder() }
    package var maxUploadSize: Int { JSONLimits.body.bytes }
}

/// The context of `/internal` routes: another service asks.
package struct InternalContext: ChildRequestContext {
    package var coreContext: CoreRequestContextStorage
    package let requestID: String
    /// The name of the service that asks; set by `ReadServiceToken`.
    package var caller = ""

    package init(context: SuiteContext) throws {
        coreContext = context.coreContext
        requestID = context.requestID
    }

    package var requestDecoder: WireRequestDecoder { WireRequestDecoder(limits: .internalBody) }
    package var responseEncoder: WireResponseEncoder { WireResponseEncoder() }
    package var maxUploadSize: Int { JSONLimits.internalBody.bytes }
}

/// Where a service's routes go.
package struct SuiteRoutes {
    /// No credential needed.
    package let open: RouterGroup<SuiteContext>
    /// No credential needed, and a body of up to 1 MB: a network's delivery, whose signature is in it.
    package let deliveries: RouterGroup<SuiteContext>
    /// For someone signed in; anybody else gets 403.
    package let user: any RouterMethods<UserContext>
    /// Event streams of a signed-in user, who may show a stream ticket in the query instead; any other request gets 403.
    package let streams: any RouterMethods<UserContext>
    /// For an application's own server and for administrators; anybody else gets 403.
    package let server: any RouterMethods<ServerContext>
    let internalRoutes: RouterGroup<InternalContext>
    let standardRoutes: RouterGroup<InternalContext>

    /// Routes below `/internal` for the listed callers; every other caller gets 403.
    package func internalRoutes(from callers: Set<InternalCaller>) -> any RouterMethods<InternalContext> {
        internalRoutes.group().add(middleware: RequireCaller(callers: callers))
    }

    /// Routes for the listed callers at a path that a standard names; every other caller gets 403.
    package func standardRoutes(from callers: Set<InternalCaller>) -> any RouterMethods<InternalContext> {
        standardRoutes.group().add(middleware: RequireCaller(callers: callers))
    }
}

/// A process that calls internal routes.
package enum InternalCaller: String, CaseIterable, Sendable {
    case auth, conversations, gateway, photos, push, social
    /// The command `roost`, with the operator's key.
    case operatorCommand = "roost"
}

extension Set<InternalCaller> {
    /// The five services behind the gateway.
    package static var services: Self { [.auth, .conversations, .photos, .push, .social] }
}
