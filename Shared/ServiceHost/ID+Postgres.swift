package import Postgres
package import Wire

extension ID: PostgresEncodable where Raw: PostgresEncodable {
    package static var postgresType: PostgresType { Raw.postgresType }

    package func encode() -> [UInt8]? { rawValue.encode() }
}

extension ID: PostgresDecodable where Raw: PostgresDecodable {
    package init(postgres cell: PostgresCell) throws {
        self.init(rawValue: try Raw(postgres: cell))
    }
}
