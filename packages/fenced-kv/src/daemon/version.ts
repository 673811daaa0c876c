/** What `fenced-kvd --version` prints. */
export const FENCED_KV_VERSION = '0.1.0';
