/** What this SDK calls itself when it greets a server. */
export const CLIENT_NAME = '@holdfast/client';
export const CLIENT_VERSION = '0.1.0';
