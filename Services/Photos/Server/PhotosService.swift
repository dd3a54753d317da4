import AuthAPI
package import Configuration
package import Postgres
package import ServiceHost
package import ServiceLifecycle

/// Photos: who posts what, who follows whom, and what each gets to see.
package struct PhotosService: SuiteService {
    package static let name = "photos"
    package static let defaultPort = 8084
    package static let migrations = [
        Migration(name: "V0001_people", sql: PackageResources.V0001_people_sql),
        Migration(name: "V0002_posts", sql: PackageResources.V0002_posts_sql),
    ]

    private let people: People
    private let upkeep: [any Service]

    package init(resources: ServiceResources, configuration: ConfigReader) async throws {
        _ = try PhotosConfiguration(configuration)
        people = People(database: resources.database, auth: AuthClient(try resources.neighbours.client("auth")))
        upkeep = []
    }

    package func addRoutes(to routes: SuiteRoutes) {}

    package var background: [any Service] { upkeep }
}
