/** The exit codes of lockctl. `lock` ends with its command's own code, or one of the last two (as in sysexits and flock wrappers). */

export const EXIT_OK = 0;
export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;
/** The lock was not acquired in time, or could not be for a reason that passes: the same command may succeed later (sysexits' TEMPFAIL). */
export const EXIT_NOT_ACQUIRED = 75;
/** The lock was lost while the command ran. */
export const EXIT_LOST = 76;
/** The command was found but cannot be executed, and not found: what shells use. */
export const EXIT_NOT_EXECUTABLE = 126;
export const EXIT_NOT_FOUND = 127;
/** Plus the signal's number: ended by a signal. */
export const EXIT_SIGNAL_BASE = 128;
