// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that users of SwiftAF neither build nor resolve any of this.
// The C clients are in CMakeLists.txt; `Benchmarks/run` builds both.
let package = Package(
    name: "Benchmarks",
    dependencies: [.package(name: "SwiftAF", path: "..")],
    targets: [
        .target(name: "CBench", cSettings: [.define("_GNU_SOURCE")]),
        .target(name: "BenchSupport", dependencies: ["CBench"]),
        .executableTarget(
            name: "bench-swift",
            dependencies: ["BenchSupport", .product(name: "SwiftAF", package: "SwiftAF")]
        ),
        .executableTarget(name: "bench-urlsession", dependencies: ["BenchSupport"]),
        .executableTarget(name: "bench-json", dependencies: [.product(name: "SwiftAF", package: "SwiftAF")]),
        // Caches: ours, GLib's in C, Foundation's and AFNetworking's way in Swift.
        .systemLibrary(name: "CGLib", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
        .target(
            name: "CBenchCache",
            dependencies: ["CGLib", .product(name: "CAFCore", package: "SwiftAF")],
            cSettings: [.define("_GNU_SOURCE")],
            linkerSettings: [.linkedLibrary("m")]
        ),
        .executableTarget(
            name: "bench-cache",
            dependencies: ["CBenchCache", .product(name: "SwiftAF", package: "SwiftAF")]
        ),
    ],
    swiftLanguageModes: [.v6]
)
