// Unsigned integers in files, of up to seven bytes, because more may not fit into an `Int`.

extension BidirectionalCollection<UInt8> {
    /// The integer whose most significant byte is the first.
    var bigEndianInteger: Int { reduce(0) { $0 << 8 | Int($1) } }

    /// The integer whose least significant byte is the first.
    var littleEndianInteger: Int { reversed().bigEndianInteger }
}
