package import Credentials
import Foundation
package import Hummingbird
import Logging
import NIOCore
package import Wire

/// The context of all requests.
package struct SuiteContext: RequestContext, RemoteAddressRequestContext {
    package var coreContext: CoreRequestContextStorage
    package var requestID = ""
    /// The identity of the caller, if the request has a valid credential; open routes ignore an invalid one.
    package var identity: Identity?
    /// The peer of the connection: the gateway, or a client that connected directly.
    package let remoteAddress: SocketAddress?

    package init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        remoteAddress = source.channel.remoteAddress
    }

    package var requestDecoder: WireRequestDecoder { WireRequestDecoder(limits: .open) }
    package var responseEncoder: WireResponseEncoder { WireResponseEncoder() }
    package var maxUploadSize: Int { JSONLimits.open.bytes }
}

/// The context of routes that require a credential.
package protocol IdentifiedContext: RequestContext {
    var requestID: String { get }
    var identity: Identity { get }
}

/// The context of routes that require a user.
package struct UserContext: ChildRequestContext, IdentifiedContext {
    package var coreContext: CoreRequestContextStorage
    package let requestID: String
    package let identity: Identity
    package let remoteAddress: SocketAddress?

    /// Requires the credential of a user.
    ///
    /// - Throws: `forbidden` without a credential, or with the credential of an application's server.
    package init(context: SuiteContext) throws {
        guard let identity = context.identity else {
            throw APIError(.forbidden, "authentication_required", "the request requires a credential")
        }
        guard !identity.isServer else {
            throw APIError(.forbidden, "user_required", "the request requires a user, not an application's server")
        }
        coreContext = context.coreContext
        requestID = context.requestID
        self.identity = identity
        remoteAddress = context.remoteAddress
    }

    package var user: User.ID { identity.user }

    /// Requires the role of an administrator.
    ///
    /// - Throws: `forbidden` for all other users.
    package func requireAdmin() throws {
        guard identity.isAdmin else {
            throw APIError(.forbidden, "admin_required", "the request requires an administrator")
        }
    }

    package var requestDecoder: WireRequestDecoder { WireRequestDecoder(limits: .body) }
    package var responseEncoder: WireResponseEncoder { WireResponseEncoder() }
    package var maxUploadSize: Int { JSONLimits.body.bytes }
}

/// The context of routes that require an application's server or an administrator of the suite.
package struct ServerContext: ChildRequestContext, IdentifiedContext {
    package var coreContext: CoreRequestContextStorage
    package let requestID: String
    package let identity: Identity

    /// Requires an application's server or an administrator.
    ///
    /// - Throws: `forbidden` for all other callers.
    package init(context: SuiteContext) throws {
        guard let identity = context.identity, identity.isServer || identity.isAdmin else {
            throw APIError(
                .forbidden,
                "server_required",
                "the request requires a server token (signed with the application's key) or an administrator"
            )
        }
        coreContext = context.coreContext
        requestID = context.requestID
        self.identity = identity
    }

    /// The application whose users the caller may manage: a server's own application, or Roost's for an administrator.
    package var application: String { identity.user.application }

    package var isAdmin: Bool { identity.isAdmin }

    package var requestDecoder: WireRequestDecoder { WireRequestDecoder(limits: .body) }
    package var responseEncoder: WireResponseEncoder { WireResponseEncoder() }
    package var maxUploadSize: Int { JSONLimits.body.bytes }
}

/// The context of `/internal` routes, which other services call.
package struct InternalContext: ChildRequestContext {
    package var coreContext: CoreRequestContextStorage
    package let requestID: String
    /// The name of the calling service; set by `ReadServiceToken`.
    package var caller = ""

    package init(context: SuiteContext) throws {
        coreContext = context.coreContext
        requestID = context.requestID
    }

    package var requestDecoder: WireRequestDecoder { WireRequestDecoder(limits: .internalBody) }
    package var responseEncoder: WireResponseEncoder { WireResponseEncoder() }
    package var maxUploadSize: Int { JSONLimits.internalBody.bytes }
}

/// The route groups of a service, by the credential that they require.
package struct SuiteRoutes {
    /// Routes that require no credential.
    package let open: RouterGroup<SuiteContext>
    /// Routes that require no credential and accept a body of up to 1 MB: signed webhook deliveries from networks.
    package let deliveries: RouterGroup<SuiteContext>
    /// Routes for users; other callers receive 403.
    package let user: any RouterMethods<UserContext>
    /// Event streams for users, who may send a stream ticket in the query instead of a credential; other callers
    /// receive 403.
    package let streams: any RouterMethods<UserContext>
    /// Routes for an application's server and for administrators; other callers receive 403.
    package let server: any RouterMethods<ServerContext>
    let internalRoutes: RouterGroup<InternalContext>
    let standardRoutes: RouterGroup<InternalContext>

    /// Returns routes below `/internal` for the listed callers; other callers receive 403.
    package func internalRoutes(from callers: Set<InternalCaller>) -> any RouterMethods<InternalContext> {
        internalRoutes.group().add(middleware: RequireCaller(callers: callers))
    }

    /// Returns routes for the listed callers at a path that a standard defines; other callers receive 403.
    package func standardRoutes(from callers: Set<InternalCaller>) -> any RouterMethods<InternalContext> {
        standardRoutes.group().add(middleware: RequireCaller(callers: callers))
    }
}

package enum InternalCaller: String, CaseIterable, Sendable {
    case auth, conversations, gateway, photos, push, social
    /// The command `roost`, which uses the operator's key.
    case operatorCommand = "roost"
}

extension Set<InternalCaller> {
    package static var services: Self { [.auth, .conversations, .photos, .push, .social] }
}
