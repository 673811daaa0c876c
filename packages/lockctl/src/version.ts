/** What `lockctl --version` prints. */
export const LOCKCTL_VERSION = '0.1.0';
