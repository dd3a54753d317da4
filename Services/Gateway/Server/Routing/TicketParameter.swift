/// The query parameter `ticket`: the credential of event streams for clients that cannot send header fields.
///
/// The gateway forwards it to event streams only, and removes it from every other request.
enum TicketParameter: Equatable {
    case absent
    case value(String)
    /// Several tickets could belong to different users.
    case repeated

    private static let name = "ticket"

    /// Finds the parameter in a target that `RequestTarget` found clean.
    static func find(in target: String) -> TicketParameter {
        guard let mark = mark(in: target) else { return .absent }
        let found = pairs(in: target, after: mark).filter(isTicket)
        switch found.count {
        case 0: return .absent
        case 1: return .value(String(Substring(found[0].dropFirst(name.utf8.count + 1))))
        default: return .repeated
        }
    }

    static func removed(from target: String) -> String {
        guard let mark = mark(in: target) else { return target }
        let remaining = pairs(in: target, after: mark).filter { !isTicket($0) }.map { String(Substring($0)) }
        return remaining.isEmpty ? String(target[..<mark]) : "\(target[..<mark])?\(remaining.joined(separator: "&"))"
    }

    static func path(of target: String) -> String { String(target[..<(mark(in: target) ?? target.endIndex)]) }

    private static func mark(in target: String) -> String.Index? {
        target.utf8.firstIndex(of: UInt8(ascii: "?"))
    }

    private static func pairs(in target: String, after mark: String.Index) -> [Substring.UTF8View] {
        target.utf8[target.utf8.index(after: mark)...]
            .split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
    }

    private static func isTicket(_ pair: Substring.UTF8View) -> Bool {
        pair.starts(with: name.utf8)
            && (pair.count == name.utf8.count || pair.dropFirst(name.utf8.count).first == UInt8(ascii: "="))
    }
}
