import DequeModule

/// So much of something that many ask for, and the line of those for whom there is not enough left.
///
/// Whoever came first is given first, also when he asks for much: what asks for little does not pass him for ever.
actor Allowance {
    private let total: Int
    /// How many may wait.
    private let places: Int
    private var given = 0
    private var line: Deque<Waiting> = []
    private var lastTicket = 0
    private var isClosed = false

    private struct Waiting {
        var ticket: Int
        var amount: Int
        var continuation: CheckedContinuation<Bool, Never>
    }

    /// How many wait.
    var waiting: Int { line.count }

    init(of total: Int, places: Int) {
        self.total = total
        self.places = places
    }

    /// Does something once there is so much for it, which must not be more than there is in all.
    ///
    /// - Throws: `.busy` if too many wait already, `.cancelled` if the task is or there will be nothing any more.
    nonisolated func with<Value: Sendable>(
        _ amount: Int,
        _ work: () async throws(ImageError) -> Value
    ) async throws(ImageError) -> Value {
        try await take(amount)
        do throws(ImageError) {
            let value = try await work()
            await giveBack(amount)
            return value
        } catch {
            await giveBack(amount)
            throw error
        }
    }

    private func take(_ amount: Int) async throws(ImageError) {
        guard !isClosed, !Task.isCancelled else { throw .cancelled }
        if line.isEmpty, given + amount <= total {
            given += amount
            return
        }
        guard line.count < places else { throw .busy }
        lastTicket += 1
        let ticket = lastTicket
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                line.append(Waiting(ticket: ticket, amount: amount, continuation: continuation))
            }
        } onCancel: {
            Task { await self.stepOut(ticket) }
        }
        guard isGranted else { throw .cancelled }
    }

    private func giveBack(_ amount: Int) {
        given -= amount
        advance()
    }

    /// Sends away all who wait, and whoever comes yet.
    func close() {
        isClosed = true
        for waiting in line {
            waiting.continuation.resume(returning: false)
        }
        line = []
    }

    private func advance() {
        while let next = line.first, given + next.amount <= total {
            line.removeFirst()
            given += next.amount
            next.continuation.resume(returning: true)
        }
    }

    private func stepOut(_ ticket: Int) {
        guard let index = line.firstIndex(where: { $0.ticket == ticket }) else { return }
        line.remove(at: index).continuation.resume(returning: false)
        // Who asked for less may have stood behind him.
        advance()
    }
}
