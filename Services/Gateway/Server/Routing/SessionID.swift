/// An Engine.IO session as a request names it.
///
/// Only one instance has it, and its id says which: it begins with the tag by which the gateway calls that instance
/// (`x-roost-instance`), so no table of sessions is needed, and any gateway finds the way.
enum SessionID {
    /// Where sessions are; no other spelling of the path is served.
    private static let path = "/socket.io/"

    /// Characters of an id that say where its session is.
    static let tagLength = 6

    /// The tag of the session that `target` names, nil where it names none; a tag that nobody has is empty.
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
