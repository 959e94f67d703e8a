import CAFProgram
import SwiftAFCommand

Program.main(onFirstThread: afp_call_on_first_thread)
