/**
 * A whole ensemble in the process of your tests: the real servers and the real client on a simulated network, with simulated disks
 * and a clock that can be turned forward. No ports, no files, no processes.
 *
 * @example
 * const ensemble = await testEnsemble();
 * const client = await ensemble.connect();
 * const held = await client.lock('jobs').acquire();
 * await ensemble.expire(client); // held.signal has aborted; the next in line has the lock
 * await ensemble.close();
 *
 * @packageDocumentation
 */

export { type Duration } from './duration.ts';
export { testEnsemble, type TestEnsemble, type TestEnsembleOptions } from './test-ensemble.ts';
