import Foundation
import ServiceHost
import Synchronization
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// The fair sharing of the password hashing queue between clients and accounts.
@Suite("Shares of the hashing queue", .timeLimit(.minutes(2))) struct HashingShareTests {
    /// One thread that is kept busy, and the order in which jobs run once it is free.
    private final class Queue: Sendable {
        let threads: HashingThreads
        private let gate = DispatchSemaphore(value: 0)
        private let isBusy = DispatchSemaphore(value: 0)
        private let order = Mutex<[String]>([])

        init(maximumWaiting: Int) {
            threads = HashingThreads(count: 1, maximumWaiting: maximumWaiting)
        }

        var ran: [String] { order.withLock { $0 } }

        /// Occupies the thread until `release()`.
        func occupy() async throws -> Task<Void, any Error> {
            let task = Task {
                try await self.threads.run {
                    self.isBusy.signal()
                    self.gate.wait()
                }
            }
            try await eventually { self.isBusy.wait(timeout: .now()) == .success }
            return task
        }

        func release() { gate.signal() }

        /// A job that is in the queue, or was refused; its error code, or nil if it ran.
        func job(_ name: String, from address: String? = nil, account: String? = nil) -> Task<APIError?, any Error> {
            Task {
                let caller = ClientInfo(address: address.flatMap { IPAddress($0) })
                do {
                    try await self.threads.run(for: .init(of: caller, account: account)) {
                        self.order.withLock { $0.append(name) }
                    }
                    return nil
                } catch let error as APIError {
                    return error
                }
            }
        }
    }

    private final class Flag: Sendable {
        private let value = Mutex(false)

        var isSet: Bool { value.withLock { $0 } }

        func set() { value.withLock { $0 = true } }
    }

    /// Adds jobs one after another, so that their order in the queue is known.
    private func add(
        _ names: [String],
        from address: String,
        to queue: Queue,
        account: String? = nil
    ) async throws -> [Task<APIError?, any Error>] {
        var jobs: [Task<APIError?, any Error>] = []
        for name in names {
            let before = queue.threads.waiting
            let job = queue.job(name, from: address, account: account)
            let isDone = Flag()
            Task {
                _ = await job.result
                isDone.set()
            }
            try await eventually { queue.threads.waiting > before || isDone.isSet }
            jobs.append(job)
        }
        return jobs
    }

    @Test("Clients are served in turn, regardless of the order in which their jobs arrived")
    func turns() async throws {
        let queue = Queue(maximumWaiting: 64)
        let busy = try await queue.occupy()
        var jobs = try await add((0..<6).map { "a\($0)" }, from: "198.51.100.1", to: queue)
        jobs += try await add(["b0", "b1"], from: "203.0.113.7", to: queue)
        queue.release()
        try await busy.value
        for job in jobs { #expect(try await job.value == nil) }
        #expect(queue.ran == ["a0", "b0", "a1", "b1", "a2", "a3", "a4", "a5"])
    }

    @Test("A full queue refuses the client with the most jobs, and makes room for others")
    func displacement() async throws {
        let queue = Queue(maximumWaiting: 8)
        let busy = try await queue.occupy()
        let flood = try await add((0..<8).map { "a\($0)" }, from: "2001:db8::1", to: queue)
        // The same /64.
        let more = try await #require(add(["a8"], from: "2001:db8::2", to: queue).first?.value)
        #expect(more.kind == .rateLimited)
        #expect(more.retryAfter == 1)
        // The other client's newest job makes room in the full queue.
        let other = queue.job("b0", from: "2001:db8:0:1::1")
        let displaced = try await #require(flood.last?.value)
        #expect(displaced.kind == .rateLimited)
        #expect(displaced.retryAfter == 1)
        queue.release()
        try await busy.value
        for job in flood.dropLast() + [other] { #expect(try await job.value == nil) }
        #expect(queue.ran.prefix(2) == ["a0", "b0"])
    }

    @Test("A queue that is full of many clients' jobs answers 503")
    func fullQueue() async throws {
        let queue = Queue(maximumWaiting: 3)
        let busy = try await queue.occupy()
        var jobs: [Task<APIError?, any Error>] = []
        for host in 1...3 { jobs += try await add(["\(host)"], from: "198.51.100.\(host)", to: queue) }
        let late = try await #require(add(["late"], from: "198.51.100.9", to: queue).first?.value)
        #expect(late.kind == .unavailable)
        #expect(late.code == "overloaded")
        queue.release()
        try await busy.value
        for job in jobs { #expect(try await job.value == nil) }
    }

    @Test("An account has four jobs in a busy queue, from any number of addresses")
    func accounts() async throws {
        let queue = Queue(maximumWaiting: 8)
        let busy = try await queue.occupy()
        var jobs: [Task<APIError?, any Error>] = []
        for host in 1...6 { jobs += try await add(["\(host)"], from: "198.51.100.\(host)", to: queue, account: "ada") }
        for job in jobs.suffix(2) { #expect(try await job.value?.kind == .rateLimited) }
        let other = try await add(["bo"], from: "198.51.100.9", to: queue, account: "bo")
        queue.release()
        try await busy.value
        for job in jobs.prefix(4) + other { #expect(try await job.value == nil) }
    }

    @Test("90 connections of one client do not stop another client's logins")
    func fairness() async throws {
        let settings = ["HASHING_THREADS": "1", "LOGINS_PER_MINUTE": "0"]
        try await withAuth(settings: settings) { auth in
            for name in ["eve", "victim"] { _ = try await auth.register(name) }
            let isOver = Flag()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<90 {
                    tasks.addTask {
                        while !isOver.isSet { _ = try await auth.login("eve", address: "198.51.100.1") }
                    }
                }
                var succeeded = 0
                for _ in 0..<20 {
                    let answer = try await auth.login("victim", address: "203.0.113.7")
                    succeeded += answer.status == 200 ? 1 : 0
                }
                isOver.set()
                try await tasks.waitForAll()
                #expect(succeeded >= 18)
            }
        }
    }
}
