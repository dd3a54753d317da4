import LocalPostgres
import Logging
import Postgres

/// Where each service's database is, made ready for it.
struct SuiteDatabase: Sendable {
    /// The database in a private server.
    private static let name = "roost"

    let settings: SuiteSettings
    let logger: Logger

    /// Prepares the operator's database, or the one that a private server holds, and answers each service's URL.
    func prepare(on server: PostgresServer? = nil, reporting report: (String) -> Void) async throws -> [String: String]
    {
        var urls: [String: String]
        if let server {
            try await createDatabase(on: server)
            urls = try await databases(server.url(database: Self.name)).prepare()
        } else if let given = settings.databaseURL {
            do {
                urls = try await databases(given).prepare()
            } catch let error as PostgresError where error.sqlState == "42501" {
                report("the user of DATABASE_URL may not make roles, so all services connect as that user")
                let services = SuiteProgram.all.filter(\.hasDatabase)
                urls = Dictionary(uniqueKeysWithValues: services.map { ($0.name, given) })
            }
        } else {
            throw Workspace.Problem("there is no database: neither a private one nor DATABASE_URL")
        }
        for program in SuiteProgram.all {
            if let own = settings.given[program.databaseKey], !own.isEmpty {
                urls[program.name] = own
            }
        }
        return urls
    }

    /// Makes the database in a private server, unless it is there.
    func createDatabase(on server: PostgresServer) async throws {
        try await databases(server.url()).createDatabase(Self.name)
    }

    /// As whom the operator looks after each service's schema, by its name; nothing is made or changed.
    func administrators(on server: PostgresServer? = nil) throws -> [String: String] {
        guard let main = server?.url(database: Self.name) ?? settings.databaseURL else {
            throw Workspace.Problem("there is no database: neither a private one nor DATABASE_URL")
        }
        let services = SuiteProgram.all.filter(\.hasDatabase)
        return Dictionary(
            uniqueKeysWithValues: services.map { program in
                (program.name, settings.given[program.databaseKey].flatMap { $0.isEmpty ? nil : $0 } ?? main)
            }
        )
    }

    private func databases(_ url: String) -> ServiceDatabases {
        ServiceDatabases(administrator: url, secrets: settings.secrets, logger: logger)
    }
}
