import DequeModule

/// One turn at a time for each person, in the order in which they were asked for; nobody waits for another person.
///
/// How many wait is bounded by how many uploads somebody may have on their way.
actor PersonConcurrencyLimit {
    private struct Waiter {
        let ticket: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// Those who have a turn, and who waits for theirs.
    private var queues: [Person.ID: Deque<Waiter>] = [:]
    private var lastTicket = 0

    /// Waits for the turn, which ends with `release`.
    ///
    /// - Throws: `CancellationError` once nobody waits for it any more; there is no turn to end then.
    func acquire(_ person: Person.ID) async throws {
        try Task.checkCancellation()
        guard queues[person] != nil else {
            queues[person] = []
            return
        }
        lastTicket += 1
        let ticket = lastTicket
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { queues[person]?.append(Waiter(ticket: ticket, continuation: $0)) }
        } onCancel: {
            Task { await self.cancelWaiter(ticket, of: person) }
        }
        guard isGranted else { throw CancellationError() }
    }

    func release(_ person: Person.ID) {
        guard let next = queues[person]?.popFirst() else {
            queues[person] = nil
            return
        }
        next.continuation.resume(returning: true)
    }

    /// How many wait for a turn of this person's.
    func waiting(for person: Person.ID) -> Int { queues[person]?.count ?? 0 }

    private func cancelWaiter(_ ticket: Int, of person: Person.ID) {
        guard let index = queues[person]?.firstIndex(where: { $0.ticket == ticket }) else { return }
        queues[person]?.remove(at: index).continuation.resume(returning: false)
    }
}
