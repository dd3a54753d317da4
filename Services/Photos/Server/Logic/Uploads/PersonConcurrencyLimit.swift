import DequeModule

/// A limit of one task at a time for each user, first come, first served; users do not wait for each other.
///
/// The number of waiting tasks is bounded by ``UploadConcurrencyLimit/uploadsOfUser``.
actor PersonConcurrencyLimit {
    private struct Waiter {
        let ticket: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// The waiting tasks of each user with a running task.
    private var queues: [Person.ID: Deque<Waiter>] = [:]
    private var lastTicket = 0

    /// Waits for the user's slot, which `release` frees.
    ///
    /// - Throws: `CancellationError` if the task is cancelled; then no slot was acquired.
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

    func waiting(for person: Person.ID) -> Int { queues[person]?.count ?? 0 }

    private func cancelWaiter(_ ticket: Int, of person: Person.ID) {
        guard let index = queues[person]?.firstIndex(where: { $0.ticket == ticket }) else { return }
        queues[person]?.remove(at: index).continuation.resume(returning: false)
    }
}
