package import Configuration
import Foundation

/// Settings of what is outside of the suite: addresses, and what it knows us by.
extension ConfigReader {
    /// An address, `http://…` or `https://…`, with or without a path; no slash at the end.
    package func url(_ name: String, default value: String) throws -> String {
        var url = text(name, default: value)
        while url.last == "/" { url.removeLast() }
        let parts = URLComponents(string: url)
        guard let parts, ["http", "https"].contains(parts.scheme), parts.host?.isEmpty == false,
            parts.query == nil, parts.fragment == nil
        else { throw SettingError(name, "is \"\(url)\"; it must be a URL like \(value)") }
        return url
    }

    /// A key or certificate: PEM, JSON, or the path of a file with either; blocks on the disk.
    package func key(_ name: String) throws -> String? {
        guard let value = string(forKey: ConfigKey([name]), isSecret: true), !value.isEmpty else { return nil }
        return try KeyText.read(value, of: name)
    }
}

/// What a setting that names a key holds: the text itself, or where it is.
package enum KeyText {
    /// - Throws: `SettingError` where it is a path, and nothing can be read there.
    package static func read(_ value: String, of setting: String) throws -> String {
        // JSON first: a service account has a PEM in it, whose line breaks are JSON's own.
        if value.drop(while: \.isWhitespace).first == "{" { return value }
        // In one line, as files of settings want it.
        if value.contains("-----BEGIN") { return value.replacing("\\n", with: "\n") }
        do {
            return try String(contentsOf: URL(filePath: value), encoding: .utf8)
        } catch {
            // Said again only where it is no key that was cut off.
            guard !value.hasPrefix("/"), !value.hasPrefix("./") else {
                throw SettingError(setting, "names the file \(value), which cannot be read")
            }
            throw SettingError(setting, "is neither PEM nor JSON, nor the path of a file that can be read")
        }
    }
}
