/** The Holdfast lock server, as a part for programs that run it themselves: on another runtime, or many in one process. */

export { DivergenceError } from './divergence.ts';
export { ExitCode, exitCodeOf } from './exit-code.ts';
export { LockMachine, type LockMachineDeps, type LockMachineOptions } from './lock-machine.ts';
export { recover, type Recovery, type RecoverWorld } from './recover.ts';
export type { RecoverOptions } from './offline-commands.ts';
export type { ServerObserver } from './server-observer.ts';
export { LockServer, type LockServerHooks, type LockServerOptions } from './server.ts';
export type { StatusReport } from './status-report.ts';
