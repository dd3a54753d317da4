import Locks
import NIOCore
import Synchronization

/// A request and its waiting caller.
///
/// The first outcome counts: a response, a deadline or a cancellation.
final class PendingRequest: Sendable {
    typealias Outcome = Result<ProviderResponse, TransportFailure>

    private enum Stage {
        case new
        case awaited(CheckedContinuation<Outcome, Never>)
        case early(Outcome)
        case over
    }

    let request: OutgoingRequest
    let deadline: NIODeadline
    private let stage = Lock(Stage.new)
    private let returns = Atomic(0)

    init(_ request: OutgoingRequest, deadline: NIODeadline) {
        self.request = request
        self.deadline = deadline
    }

    /// Counts a return by a connection; returns true after more than 3 returns, which ends the request.
    func isReturnedTooOften() -> Bool {
        returns.wrappingAdd(1, ordering: .relaxed).newValue > 3
    }

    var isOver: Bool {
        stage.withLock { stage in
            switch stage {
            case .new, .awaited: false
            case .early, .over: true
            }
        }
    }

    /// Waits for the outcome of the work that `start` begins.
    func outcome(_ start: () -> Void) async -> Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome: Outcome? = stage.withLock { stage in
                    guard case .early(let outcome) = stage else {
                        stage = .awaited(continuation)
                        return nil
                    }
                    stage = .over
                    return outcome
                }
                if let outcome { continuation.resume(returning: outcome) } else { start() }
            }
        } onCancel: {
            end(.failure(.cancelled))
        }
    }

    func end(_ outcome: Outcome) {
        let waiter: CheckedContinuation<Outcome, Never>? = stage.withLock { stage in
            switch stage {
            case .new:
                stage = .early(outcome)
                return nil
            case .awaited(let continuation):
                stage = .over
                return continuation
            case .early, .over: return nil
            }
        }
        waiter?.resume(returning: outcome)
    }
}
