import DequeModule

/// So much of something that many ask for, and the line of those for whom there is not enough left.
///
/// Whoever came first is given first, also when he asks for much: what asks for little does not pass him for ever.
actor ConcurrencyLimit {
    private let total: Int
    /// How many may wait.
    private let queueLimit: Int
    private var acquired = 0
    private var queue: Deque<Waiter> = []
    private var lastTicket = 0
    private var isClosed = false

    private struct Waiter {
        var ticket: Int
        var amount: Int
        var continuation: CheckedContinuation<Bool, Never>
    }

    /// How many wait.
    var waiting: Int { queue.count }

    init(of total: Int, queueLimit: Int) {
        self.total = total
        self.queueLimit = queueLimit
    }

    /// Does something once there is so much for it, which must not be more than there is in all.
    ///
    /// - Throws: `.busy` if too many wait already, `.cancelled` if the task is or there will be nothing any more.
    nonisolated func with<Value: Sendable>(
        _ amount: Int,
        _ work: () async throws(ImageError) -> Value
    ) async throws(ImageError) -> Value {
        try await acquire(amount)
        do throws(ImageError) {
            let value = try await work()
            await release(amount)
            return value
        } catch {
            await release(amount)
            throw error
        }
    }

    private func acquire(_ amount: Int) async throws(ImageError) {
        guard !isClosed, !Task.isCancelled else { throw .cancelled }
        if queue.isEmpty, acquired + amount <= total {
            acquired += amount
            return
        }
        guard queue.count < queueLimit else { throw .busy }
        lastTicket += 1
        let ticket = lastTicket
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.append(Waiter(ticket: ticket, amount: amount, continuation: continuation))
            }
        } onCancel: {
            Task { await self.cancelWaiter(ticket) }
        }
        guard isGranted else { throw .cancelled }
    }

    private func release(_ amount: Int) {
        acquired -= amount
        resumeWaiters()
    }

    /// Sends away all who wait, and whoever comes yet.
    func close() {
        isClosed = true
        for waiting in queue {
            waiting.continuation.resume(returning: false)
        }
        queue = []
    }

    private func resumeWaiters() {
        while let next = queue.first, acquired + next.amount <= total {
            queue.removeFirst()
            acquired += next.amount
            next.continuation.resume(returning: true)
        }
    }

    private func cancelWaiter(_ ticket: Int) {
        guard let index = queue.firstIndex(where: { $0.ticket == ticket }) else { return }
        queue.remove(at: index).continuation.resume(returning: false)
        // Who asked for less may have stood behind him.
        resumeWaiters()
    }
}
