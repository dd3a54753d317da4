public import Foundation

/// Why there is no connection, or no answer.
public enum SocketIOClientError: Error, Hashable, Sendable {
    case badURL(String)
    /// Nobody answers there, or not as it should be: the text is for a person.
    case unreachable(String)
    /// The answer to the wish for a WebSocket was this status.
    case refusedByHTTP(Int)
    /// The server lets nobody in with that `auth`; `data` is JSON of its own.
    case refused(message: String, data: Data?)
    case timedOut
    /// The connection is over; what was under way may have had its effect.
    case closed(SocketIOClosing)
    /// More waits to be sent, or to be answered, than may.
    case tooMuchWaiting
    case messageTooLarge
}

/// Why a connection ended.
public enum SocketIOClosing: Hashable, Sendable {
    /// We did.
    case byClient
    /// The server said so, for this namespace or for all of it.
    case byServer
    /// It is gone without a word.
    case lost
    /// No ping came in time.
    case silent
    /// The server said what makes no sense.
    case protocolViolation(String)
}

extension SocketIOClientError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .badURL(let url): "\(url) is no address of a server"
        case .unreachable(let reason): "the server cannot be reached: \(reason)"
        case .refusedByHTTP(let status): "the server answers \(status)"
        case .refused(let message, _): "the server refuses: \(message)"
        case .timedOut: "the server does not answer in time"
        case .closed(let closing): "the connection is over: \(closing)"
        case .tooMuchWaiting: "too much waits to be sent"
        case .messageTooLarge: "the message is too large"
        }
    }
}

extension SocketIOClosing: CustomStringConvertible {
    public var description: String {
        switch self {
        case .byClient: "closed here"
        case .byServer: "closed by the server"
        case .lost: "lost"
        case .silent: "no ping in time"
        case .protocolViolation(let what): "the server said \(what)"
        }
    }
}
