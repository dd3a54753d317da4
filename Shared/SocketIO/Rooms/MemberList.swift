/// An unordered list of sockets with fast iteration and lookup.
struct MemberList {
    private(set) var members: ContiguousArray<Socket> = []
    /// The index of each socket; filled only if the list is too long for a linear search.
    private var indices: [ObjectIdentifier: Int] = [:]
    private static let linearSearchLimit = 8

    var isEmpty: Bool { members.isEmpty }

    private func index(of socket: Socket) -> Int? {
        members.count <= Self.linearSearchLimit
            ? members.firstIndex { $0 === socket } : indices[ObjectIdentifier(socket)]
    }

    func contains(_ socket: Socket) -> Bool { index(of: socket) != nil }

    mutating func insert(_ socket: Socket) {
        members.append(socket)
        if members.count == Self.linearSearchLimit + 1 {
            for (index, member) in members.enumerated() { indices[ObjectIdentifier(member)] = index }
        } else if members.count > Self.linearSearchLimit {
            indices[ObjectIdentifier(socket)] = members.count - 1
        }
    }

    /// Removes a socket; returns whether it was in the list.
    mutating func remove(_ socket: Socket) -> Bool {
        guard let index = index(of: socket) else { return false }
        let last = members.removeLast()
        if last !== socket { members[index] = last }
        if members.count > Self.linearSearchLimit {
            indices[ObjectIdentifier(socket)] = nil
            if last !== socket { indices[ObjectIdentifier(last)] = index }
        } else if !indices.isEmpty {
            indices = [:]
        }
        return true
    }
}
