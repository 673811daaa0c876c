/** This server's version, as /status and --version tell it. */
export const LOCKD_VERSION = '0.1.0';
