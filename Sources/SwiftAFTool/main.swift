import SwiftAFCommand

Program.main()
