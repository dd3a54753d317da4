package import Configuration
import Foundation

/// Settings for external systems: URLs, keys and certificates.
extension ConfigReader {
    /// Returns a URL with `http` or `https`, with or without a path, without a slash at the end.
    package func url(_ name: String, default value: String) throws -> String {
        var url = text(name, default: value)
        while url.last == "/" { url.removeLast() }
        let parts = URLComponents(string: url)
        guard let parts, ["http", "https"].contains(parts.scheme), parts.host?.isEmpty == false,
            parts.query == nil, parts.fragment == nil
        else { throw SettingError(name, "is \"\(url)\"; it must be a URL like \(value)") }
        return url
    }

    /// Returns a key or certificate: PEM, JSON, or the path of a file with either; blocks on the disk.
    package func key(_ name: String) throws -> String? {
        guard let value = string(forKey: ConfigKey([name]), isSecret: true), !value.isEmpty else { return nil }
        return try KeyText.read(value, of: name)
    }
}

/// The value of a setting that contains a key or the path of a key file.
package enum KeyText {
    /// Returns the key's text.
    ///
    /// - Throws: a `SettingError` if the value is a path and the file cannot be read.
    package static func read(_ value: String, of setting: String) throws -> String {
        // JSON is checked first: a service account contains a PEM whose line breaks are escaped in JSON.
        if value.drop(while: \.isWhitespace).first == "{" { return value }
        // Settings files contain a PEM in one line.
        if value.contains("-----BEGIN") { return value.replacing("\\n", with: "\n") }
        do {
            return try String(contentsOf: URL(filePath: value), encoding: .utf8)
        } catch {
            // The value is quoted only if it looks like a path, because it could be a truncated key.
            guard !value.hasPrefix("/"), !value.hasPrefix("./") else {
                throw SettingError(setting, "names the file \(value), which cannot be read")
            }
            throw SettingError(setting, "is neither PEM, JSON nor the path of a readable file")
        }
    }
}
