import DequeModule

/// One turn at a time for each person, in the order in which they were asked for; nobody waits for another person.
///
/// How many wait is bounded by how many uploads somebody may have on their way.
actor PersonTurns {
    private struct Waiting {
        let ticket: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// Those who have a turn, and who waits for theirs.
    private var lines: [Person.ID: Deque<Waiting>] = [:]
    private var lastTicket = 0

    /// Waits for the turn, which ends with `end`.
    ///
    /// - Throws: `CancellationError` once nobody waits for it any more; there is no turn to end then.
    func take(_ person: Person.ID) async throws {
        try Task.checkCancellation()
        guard lines[person] != nil else {
            lines[person] = []
            return
        }
        lastTicket += 1
        let ticket = lastTicket
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { lines[person]?.append(Waiting(ticket: ticket, continuation: $0)) }
        } onCancel: {
            Task { await self.stepOut(ticket, of: person) }
        }
        guard isGranted else { throw CancellationError() }
    }

    func end(_ person: Person.ID) {
        guard let next = lines[person]?.popFirst() else {
            lines[person] = nil
            return
        }
        next.continuation.resume(returning: true)
    }

    /// How many wait for a turn of this person's.
    func waiting(for person: Person.ID) -> Int { lines[person]?.count ?? 0 }

    private func stepOut(_ ticket: Int, of person: Person.ID) {
        guard let place = lines[person]?.firstIndex(where: { $0.ticket == ticket }) else { return }
        lines[person]?.remove(at: place).continuation.resume(returning: false)
    }
}
