import CLibpq
import DequeModule

extension Connection {
    /// Reads the available data and passes each completed segment to `completed`.
    ///
    /// - Returns: false if the connection is lost.
    func receive(now: Int64, completed: (Segment) -> Void) -> Bool {
        let isAlive = PQconsumeInput(handle) == 1
        var silent = 0
        while let segment = inFlight.first, PQisBusy(handle) == 0 {
            guard let raw = PQgetResult(handle) else {
                // libpq returns nil at the end of each statement's results. Two in a row mean that no more results are
                // coming.
                silent += 1
                if !isPipelined {
                    complete(now: now, completed)
                } else if silent > 2 {
                    return false
                }
                continue
            }
            silent = 0
            switch PQresultStatus(raw) {
            case PGRES_PIPELINE_SYNC:
                PQclear(raw)
                complete(now: now, completed)
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
                record(ResultHandle(raw), for: segment)
            case PGRES_PIPELINE_ABORTED:
                PQclear(raw)
                abandonStep(of: segment)
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                PQclear(raw)
                closingReason = "COPY is not supported"
                return false
            default:
                let failure = Failure(raw)
                PQclear(raw)
                guard let report = failure.report, !failure.isFatal else {
                    closingReason = failure.message
                    return false
                }
                reject(report, isStale: failure.isStalePlan, of: segment)
            }
            guard handle != nil else { return false }
        }
        return isAlive
    }

    private func complete(now: Int64, _ completed: (Segment) -> Void) {
        headSince = now
        guard let segment = inFlight.popFirst() else { return }
        completed(segment)
    }

    private func record(_ resultHandle: ResultHandle, for segment: Segment) {
        guard isPipelined, segment.completedSteps < segment.steps.count else {
            segment.results.append(PostgresResult(resultHandle: resultHandle))
            return
        }
        switch segment.steps[segment.completedSteps] {
        case .begin: break
        case .prepare(let entry): entry.isConfirmed = true
        case .run: segment.results.append(PostgresResult(resultHandle: resultHandle))
        }
        segment.completedSteps += 1
    }

    private func abandonStep(of segment: Segment) {
        guard segment.completedSteps < segment.steps.count else { return }
        if case .prepare(let entry) = segment.steps[segment.completedSteps] { cache.remove(entry, deallocating: false) }
        segment.completedSteps += 1
    }

    private func reject(_ report: PostgresError.Report, isStale: Bool, of segment: Segment) {
        if segment.error == nil { segment.error = .server(report) }
        // After the last step, the Sync itself failed: a deferred constraint or a serialization failure.
        guard segment.completedSteps < segment.steps.count else { return }
        switch segment.steps[segment.completedSteps] {
        case .begin: break
        case .prepare(let entry): cache.remove(entry, deallocating: false)
        case .run(let entry):
            let isMissing = report.sqlState == "26000"
            if let entry, isStale || isMissing {
                cache.remove(entry, deallocating: !isMissing)
                segment.isStale = true
            }
        }
        segment.completedSteps += 1
    }
}
