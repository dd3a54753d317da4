public import NIOCore

/// The arguments of an event or acknowledgement: JSON as sent on the wire, and binary attachments.
///
/// Arguments are not decoded until the application does so. In the JSON, `{"_placeholder":true,"num":0}` stands for the
/// attachment with this index in ``attachments``.
///
/// ```swift
/// let draft = try JSONDecoder().decode(Draft.self, from: Data(buffer: event.arguments[0]!))
/// socket.emit("saved", SocketArguments(json: #"{"id":7},"today""#))
/// ```
public struct SocketArguments: Hashable, Sendable {
    /// JSON values separated by commas, without the array's brackets.
    public let json: ByteBuffer
    /// The binary attachments, in the order of their placeholder numbers.
    public let attachments: [ByteBuffer]

    /// An empty list of arguments.
    public static let none = SocketArguments(json: ByteBuffer())

    /// Creates arguments from encoded JSON.
    ///
    /// - Parameters:
    ///   - json: Well-formed JSON values separated by commas; they are not validated.
    ///   - attachments: The attachments of the placeholders.
    public init(json: ByteBuffer, attachments: [ByteBuffer] = []) {
        self.json = json
        self.attachments = attachments
    }

    /// Creates arguments from encoded JSON.
    ///
    /// - Parameters:
    ///   - json: Well-formed JSON values separated by commas; they are not validated.
    ///   - attachments: The attachments of the placeholders.
    public init(json: String, attachments: [ByteBuffer] = []) {
        self.init(json: ByteBuffer(string: json), attachments: attachments)
    }

    /// The number of arguments; computing it scans the JSON.
    public var count: Int { JSONScanner.count(json) }

    /// The JSON of the argument at an index; nil after the last.
    public subscript(_ index: Int) -> ByteBuffer? { JSONScanner.element(index, of: json) }
}
