/** What the fences of SQL databases have in common. Not published: it is bundled into them. */

export { borrow, Borrowed } from './borrowed.ts';
export { fenceOn, installOn, type Database, type FencedSession, type Opened } from './call.ts';
export { connectionError, refusedError, schemaVersionError, timeoutError, type Doing } from './errors.ts';
export { shown, statementsThatBegin } from './guard.ts';
export type { Arguments, FenceOptions, InstallOptions, Settings } from './options.ts';
