/** The Holdfast lock server, as a part for programs that run it themselves: on another runtime, or many in one process. */

export { DivergenceError } from './health/divergence.ts';
export { ExitCode, exitCodeOf } from './exit-code.ts';
export { LockMachine, type LockMachineDeps } from './machine/lock-machine.ts';
export type { LockMachineOptions } from './machine/machine-parts.ts';
export { recover, type Recovery, type RecoverWorld } from './offline/recover.ts';
export type { RecoverOptions } from './offline/offline-commands.ts';
export type { ServerObserver } from './machine/server-observer.ts';
export { LockServer, type LockServerHooks, type LockServerOptions } from './server.ts';
export type { StatusReport } from './http/status-report.ts';
