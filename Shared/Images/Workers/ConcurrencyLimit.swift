import DequeModule

/// A limit on an amount that concurrent requests share, such as memory, with a queue.
///
/// Requests are served first come, first served, so that small requests cannot starve a large one.
actor ConcurrencyLimit {
    private let total: Int
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

    var waiting: Int { queue.count }

    init(of total: Int, queueLimit: Int) {
        self.total = total
        self.queueLimit = queueLimit
    }

    /// Runs `work` once `amount` is available; `amount` must not exceed the total.
    ///
    /// - Throws: `.busy` if the queue is full, or `.cancelled` if the task is cancelled or the limit is closed.
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

    /// Cancels all waiting and later requests.
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
        // A smaller request may have waited behind the cancelled one.
        resumeWaiters()
    }
}
