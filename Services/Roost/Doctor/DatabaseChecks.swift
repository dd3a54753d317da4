import Foundation
import LocalPostgres
import Logging
import Postgres

struct DatabaseChecks: Sendable {
    let workspace: Workspace
    let settings: SuiteSettings
    let logger: Logger

    func findings() async -> [Finding] {
        do {
            guard let url = try url() else {
                return [.ok("the private PostgreSQL is not running; roost up starts it")]
            }
            return try await findings(at: url)
        } catch let error as PostgresError where error.isUnavailable {
            return [.failure("PostgreSQL does not respond: \(error)", remedyIfUnreachable)]
        } catch {
            return [.failure("PostgreSQL could not be checked: \(error)", remedyIfUnreachable)]
        }
    }

    private var remedyIfUnreachable: String {
        settings.databaseURL == nil ? "see \(workspace.postgres)/log" : "check DATABASE_URL and the server it names"
    }

    private func url() throws -> String? {
        if let given = settings.databaseURL {
            return given
        }
        let server = try PostgresServer(.init(directory: workspace.postgres), logger: logger)
        return try server.isRunningElsewhere() ? server.url(database: "roost") : nil
    }

    private func findings(at url: String) async throws -> [Finding] {
        var configuration = try PostgresConfiguration(url: url)
        configuration.applicationName = "roost doctor"
        let pool = PostgresPool(configuration: configuration, logger: logger)
        do {
            var findings = [try await server(pool), try await clock(pool), try await connections(pool)]
            for program in SuiteProgram.all where program.hasDatabase {
                findings.append(try await role(of: program, pool))
            }
            await pool.shutdown()
            return findings
        } catch {
            await pool.shutdown()
            throw error
        }
    }

    private func server(_ pool: PostgresPool) async throws -> Finding {
        let version = try await pool.one(
            "SELECT current_setting('server_version_num')::int8 AS version",
            as: { try $0.int("version") }
        )
        let text = "PostgreSQL \(version / 10_000).\(version % 10_000) responds"
        return version >= 150_000 ? .ok(text) : .failure(text, "PostgreSQL 15 or newer is needed")
    }

    private func clock(_ pool: PostgresPool) async throws -> Finding {
        let serverTime = try await pool.one("SELECT clock_timestamp() AS now", as: { try $0.date("now") })
        let skew = abs(serverTime.timeIntervalSinceNow)
        let text = "the clocks here and at PostgreSQL are \(Int(skew * 1_000)) ms apart"
        switch skew {
        case ..<2: return .ok(text)
        case ..<30: return .warning(text, "synchronize the clocks of both machines")
        default: return .failure(text, "synchronize the clocks: tokens are rejected as not yet valid")
        }
    }

    private func connections(_ pool: PostgresPool) async throws -> Finding {
        let (used, limit) = try await pool.one(
            """
            SELECT count(*) AS used, current_setting('max_connections')::int8 AS allowed
            FROM pg_stat_activity
            WHERE backend_type = 'client backend'
            """,
            as: { (try $0.int("used"), try $0.int("allowed")) }
        )
        let text = "\(used) of \(limit) connections to PostgreSQL are in use"
        return used < limit * 9 / 10
            ? .ok(text) : .warning(text, "raise max_connections, or lower DATABASE_CONNECTIONS")
    }

    /// Checks that a service's role can log in, owns its schema and cannot use another service's schema.
    private func role(of program: SuiteProgram, _ pool: PostgresPool) async throws -> Finding {
        let others = SuiteProgram.all.filter { $0.hasDatabase && $0 != program }.map(\.name)
        let row = try await pool.first(
            """
            SELECT rolcanlogin AS may_log_in,
                (SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = \(program.name)) = rolname AS owns,
                EXISTS (
                    SELECT FROM pg_namespace
                    WHERE nspname = ANY(\(others)) AND has_schema_privilege(pg_roles.oid, pg_namespace.oid, 'USAGE')
                ) AS uses_others
            FROM pg_roles
            WHERE rolname = \(program.role)
            """,
            as: { row in
                (
                    mayLogIn: try row.bool("may_log_in"), owns: try row.decodeIfPresent("owns", as: Bool.self) ?? false,
                    usesOthers: try row.bool("uses_others")
                )
            }
        )
        guard let row else {
            return .warning(
                "the role \(program.role) does not exist",
                "roost up or roost migrate creates it, if permitted"
            )
        }
        guard row.owns, !row.usesOthers else {
            return .failure(
                row.owns
                    ? "\(program.role) can use another service's schema"
                    : "\(program.role) does not own the schema \(program.name)",
                "roost migrate corrects it"
            )
        }
        return row.mayLogIn
            ? .ok("\(program.role) owns the schema \(program.name) and can use no other")
            : .warning("\(program.role) cannot log in, so services share a user", "let roost up create the roles")
    }
}
