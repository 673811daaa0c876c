/** The local ensemble as child processes, for the launcher, the demo, benchmarks and end-to-end tests. */

export * from './addresses.ts';
export * from './ensemble-error.ts';
export * from './free-ports.ts';
export { describeExit, GuardedProcess, type GuardedProcessOptions, type ProcessExit } from './guarded-process.ts';
export { LocalEnsemble, type ExitReport, type LocalEnsembleOptions } from './local-ensemble.ts';
export { watchPaused } from './pause-watch.ts';
export { bundledEntry, programEntry } from './programs.ts';
export { answersOk, fetchStatus, type ServerStatus } from './server-status.ts';
export { waitUntil } from './wait-until.ts';
