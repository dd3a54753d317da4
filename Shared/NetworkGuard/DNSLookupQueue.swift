import Locks
package import NIOCore
import NIOPosix

/// A queue that runs DNS lookups on a bounded number of threads, of which each registered domain can use a share.
///
/// A lookup blocks its thread, for about 30 s if the domain's name server does not respond, and users can submit any
/// number of names. Names of the same domain wait for each other in the order of arrival and do not delay other
/// domains.
package final class DNSLookupQueue: Sendable {
    /// The work to run, either on a thread that it may block, or elsewhere with the error that prevented the lookup.
    package typealias Work = @Sendable (_ failure: (any Error)?) -> Void

    private struct Waiting {
        let id: Int
        let domain: String
        let work: Work
    }

    private enum Admission {
        case now
        case later(id: Int)
        case never
    }

    private struct State {
        let maximum: Int
        let share: Int
        let maximumWaiting: Int
        var total = 0
        var running: [String: Int] = [:]
        var waiting: [Waiting] = []
        var lastID = 0

        init(maximum: Int, share: Int, maximumWaiting: Int) {
            (self.maximum, self.share, self.maximumWaiting) = (maximum, share, maximumWaiting)
        }

        mutating func add(_ domain: String, _ work: @escaping Work) -> Admission {
            if hasRoom(for: domain) {
                begin(domain)
                return .now
            }
            guard waiting.count(where: { $0.domain == domain }) < maximumWaiting else { return .never }
            lastID += 1
            waiting.append(Waiting(id: lastID, domain: domain, work: work))
            return .later(id: lastID)
        }

        /// Ends a lookup and starts the first waiting one whose domain has capacity.
        mutating func end(_ domain: String) -> Waiting? {
            total -= 1
            let others = (running[domain] ?? 1) - 1
            running[domain] = others > 0 ? others : nil
            guard let index = waiting.firstIndex(where: { hasRoom(for: $0.domain) }) else { return nil }
            let next = waiting.remove(at: index)
            begin(next.domain)
            return next
        }

        mutating func remove(_ id: Int) -> Waiting? {
            waiting.firstIndex { $0.id == id }.map { waiting.remove(at: $0) }
        }

        private func hasRoom(for domain: String) -> Bool {
            total < maximum && (running[domain] ?? 0) < share
        }

        private mutating func begin(_ domain: String) {
            total += 1
            running[domain, default: 0] += 1
        }
    }

    /// The queue that guards share by default.
    package static let shared = DNSLookupQueue()

    private static let threadCount = 32
    private static let threads = {
        let threads = NIOThreadPool(numberOfThreads: DNSLookupQueue.threadCount)
        threads.start()
        return threads
    }()

    private let state: Lock<State>
    private let queueTimeout: TimeAmount

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - maximum: the maximum number of concurrent lookups; at most the number of threads, 32.
    ///   - share: the maximum number of concurrent lookups for one registered domain.
    ///   - maximumWaiting: the maximum number of waiting lookups for one registered domain.
    ///   - queueTimeout: the limit for a lookup's wait.
    package init(
        maximum: Int = 32,
        share: Int = 2,
        maximumWaiting: Int = 64,
        queueTimeout: TimeAmount = .seconds(5)
    ) {
        let maximum = min(maximum, DNSLookupQueue.threadCount)
        state = Lock(State(maximum: maximum, share: share, maximumWaiting: maximumWaiting))
        self.queueTimeout = queueTimeout
    }

    /// Runs `work` exactly once: when this host's lookup can start, or with an error.
    ///
    /// The error is ``AddressGuardError/tooManyLookups``, or `ChannelError.eof` after the threads were stopped.
    package func submit(_ host: String, _ work: @escaping Work) {
        let domain = Self.registeredDomain(of: host)
        switch state.withLock({ $0.add(domain, work) }) {
        case .now: start(domain, work)
        case .later(let id):
            MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: queueTimeout) { self.expire(id) }
        case .never: work(AddressGuardError.tooManyLookups)
        }
    }

    private func start(_ domain: String, _ work: @escaping Work) {
        Self.threads.submit { state in
            if case .active = state { work(nil) } else { work(ChannelError.eof) }
            let next = self.state.withLock { $0.end(domain) }
            if let next { self.start(next.domain, next.work) }
        }
    }

    private func expire(_ id: Int) {
        let late = state.withLock { $0.remove(id) }
        late?.work(AddressGuardError.tooManyLookups)
    }

    /// Returns the registered domain of a name, estimated from its text.
    ///
    /// The list of public suffixes is not used, so all hosts below an unlisted suffix share one domain.
    ///
    /// - Parameter host: a name.
    /// - Returns: the last two labels, or three for names like `example.co.uk`.
    package static func registeredDomain(of host: String) -> String {
        let labels = host.lowercased().split(separator: ".")
        // Below a two-letter country domain with a known second level (co.uk, com.au), the registered domain has three
        // labels, as in example.co.uk.
        let isLong =
            labels.count > 2 && labels[labels.count - 1].utf8.count == 2
            && secondLevels.contains(labels[labels.count - 2])
        return labels.suffix(isLong ? 3 : 2).joined(separator: ".")
    }

    private static let secondLevels: Set<Substring> = [
        "ac", "co", "com", "edu", "go", "gov", "ne", "net", "or", "org",
    ]
}
