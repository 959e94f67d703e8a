/// Constants of GTK's enumerations, which the binding leaves out.
enum Orientation {
    static let horizontal: UInt32 = 0
    static let vertical: UInt32 = 1
}

enum Ellipsis {
    /// PANGO_ELLIPSIZE_END.
    static let end: UInt32 = 3
}

enum Transition {
    /// GTK_STACK_TRANSITION_TYPE_CROSSFADE.
    static let crossfade: UInt32 = 1
}

enum ApplicationFlags {
    /// G_APPLICATION_NON_UNIQUE: each start is a program of its own.
    static let nonUnique: UInt32 = 32
}
