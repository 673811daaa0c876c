/** The simulated runtime: deterministic, in virtual time, with faults. For tests; production code never loads it. */

export { SECTOR_BYTES } from './disk/disk-content.ts';
export type { Tear } from './disk/disk-content.ts';
export type { DiskFaultOptions, DiskLatency, SimDisk } from './disk/disk.ts';
export type { DiskOperation } from './disk/disk-operation.ts';
export type { CrashOptions, SimHost } from './host.ts';
export type { SimHttpRequest } from './network/http-request.ts';
export type { ExponentialLatency, Latency, RangeLatency } from './network/latency.ts';
export type { DialMode } from './network/link.ts';
export type { SimNetwork } from './network/network.ts';
export { randomStream } from './prng.ts';
export type { Scheduled } from './process.ts';
export { SimTimeoutError } from './scheduler.ts';
export type { RunOptions } from './scheduler.ts';
export { STRUCK_FAULTS } from './struck.ts';
export type { StruckFault } from './struck.ts';
export { RealWorldError } from './traps.ts';
export { SimWorld } from './world.ts';
export type { HostOptions, SimWorldOptions } from './world.ts';
