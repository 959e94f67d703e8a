import FoundationEssentials
import Testing

/// The numbers of a file in `Tests/Thresholds`, those of this build's configuration.
enum AllocationThresholds {
    #if DEBUG
        static let configuration = "debug"
    #else
        static let configuration = "release"
    #endif

    static func threshold(of name: String, in file: String) throws -> Double {
        let path = #filePath.replacing("Allocation/AllocationThresholds.swift", with: "Thresholds/\(file).json")
        let contents = try Data(contentsOf: URL(filePath: path))
        let thresholds = try JSONDecoder().decode([String: [String: Double]].self, from: contents)
        return try #require(thresholds[configuration]?[name], "no threshold is recorded for \(name)")
    }
}
