/** The exit codes of lockctl. `lock` ends with its command's own code, or one of the last two (as in sysexits and flock wrappers). */

/** Done. */
export const EXIT_OK = 0;
/** The ensemble refused, or could not be asked. Read the message. */
export const EXIT_FAILURE = 1;
/** Wrong usage. Read the message. */
export const EXIT_USAGE = 2;
/** The lock was not acquired in time, or could not be for a reason that passes. Try again later (sysexits' TEMPFAIL). */
export const EXIT_NOT_ACQUIRED = 75;
/** The lock was lost while the command ran. The command was ended. */
export const EXIT_LOST = 76;
/** The command was found but cannot be executed, as in shells. */
export const EXIT_NOT_EXECUTABLE = 126;
/** The command was not found, as in shells. */
export const EXIT_NOT_FOUND = 127;
/** And the signal's number on top: the command was ended by a signal. */
export const EXIT_SIGNAL_BASE = 128;
