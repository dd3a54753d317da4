/// The Engine.IO session id in a request.
///
/// A session exists on one instance only. The id begins with the tag that the gateway gives to that instance
/// (`x-roost-instance`), so every gateway finds the instance without a table of sessions.
enum SessionID {
    /// The only spelling of the path that is served.
    private static let path = "/socket.io/"

    /// The number of leading id characters that identify the instance.
    static let tagLength = 6

    /// Returns the tag of the session in `target`, or nil without a session; a too short id yields an empty tag.
    static func tag(in target: String) -> Substring? {
        let bytes = target.utf8
        guard bytes.starts(with: path.utf8), let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        for pair in bytes[bytes.index(after: mark)...].split(separator: UInt8(ascii: "&"))
        where pair.starts(with: "sid=".utf8) {
            let id = pair.dropFirst(4)
            return id.count > tagLength ? Substring(id.prefix(tagLength)) : ""
        }
        return nil
    }
}
