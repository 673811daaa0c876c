/** A scenario on disk, with what it showed: made by a failing run, replayed by `jepsen replay`. Every field is checked on reading. */

import type { Violation } from '../targets/violation.ts';
import { LEADER, type Fault, type FaultKind, type MemberStep, type Scenario, type StrangerStep } from './scenario.ts';

const FORMAT = 'holdfast-scenario';
const VERSION = 1;

export interface SavedScenario {
  readonly scenario: Scenario;
  readonly failure: Violation | undefined;
  readonly traceHash: string;
}

export class ScenarioFormatError extends Error {
  constructor(problem: string) {
    super(`not a scenario that this version can replay: ${problem}`);
    this.name = 'ScenarioFormatError';
  }
}

export function encodeScenario({ scenario, failure, traceHash }: SavedScenario): string {
  const { faults, ...rest } = scenario;
  const head = JSON.stringify({ format: FORMAT, version: VERSION, failure, traceHash, scenario: rest }, undefined, 2);
  // One fault a line, so that a person can read and edit the schedule.
  const lines = faults.map((fault) => `    ${JSON.stringify(fault)}`).join(',\n');
  return `${head.slice(0, head.lastIndexOf('}')).trimEnd()},\n  "faults": [\n${lines}\n  ]\n}\n`;
}

/** @throws ScenarioFormatError */
export function decodeScenario(text: string): SavedScenario {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ScenarioFormatError(`it is not JSON (${(error as Error).message})`);
  }
  const file = record(value, 'the file');
  if (file['format'] !== FORMAT) throw new ScenarioFormatError(`"format" is not "${FORMAT}"`);
  if (file['version'] !== VERSION)
    throw new ScenarioFormatError(`"version" is ${quote(file['version'])}, not ${VERSION}`);
  const rest = record(file['scenario'], '"scenario"');
  const faults = list(file['faults'], '"faults"').map((fault, place) => checkFault(fault, `fault ${place + 1}`));
  checkScenario(rest);
  const failure =
    file['failure'] === undefined ? undefined : (record(file['failure'], '"failure"') as unknown as Violation);
  const traceHash = string(file['traceHash'], '"traceHash"');
  return { scenario: { ...(rest as unknown as Omit<Scenario, 'faults'>), faults }, failure, traceHash };
}

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown, what: string) => unknown;

function checkScenario(fields: Fields): void {
  only(fields, 'scenario', {
    version: (value, what) => oneOf(value, what, [1]),
    seed: integer,
    servers: (value, what) => oneOf(value, what, [3, 5]),
    clients: (value, what) => {
      for (const client of list(value, what)) {
        const plan = record(client, what);
        const long = 'longSteps' in plan ? { longSteps: positive } : {};
        const bursts = 'bursts' in plan ? { bursts: isTrue } : {};
        const reads = 'readEveryMs' in plan ? { readEveryMs: positive } : {};
        const fields = { name: string, sessionTimeoutMs: positive, workers: positive, ...long, ...bursts, ...reads };
        only(plan, `${what}: a client`, fields);
      }
    },
    locks: positive,
    tuning: (value, what) =>
      only(record(value, what), what, { electionTimeoutMs: positive, heartbeatMs: positive, segmentBytes: positive }),
    network: delay,
    disk: delay,
    durationMs: positive,
    ...('snapshots' in fields ? { snapshots: snapshotTuning } : {}),
    ...('replication' in fields ? { replication: replicationTuning } : {}),
    ...('members' in fields ? { members: stepsOf(STEP_FIELDS) } : {}),
    ...('strangers' in fields ? { strangers: stepsOf(STRANGER_FIELDS) } : {}),
  });
}

function snapshotTuning(value: unknown, what: string): void {
  const sizes = { logBytes: positive, sliceBytes: positive, chunkBytes: positive, bytesPerSecond: positive };
  only(record(value, what), what, { ...sizes, trailingBytes: integer });
}

function replicationTuning(value: unknown, what: string): void {
  only(record(value, what), what, { maxInflightMessages: positive, maxAppendBytes: positive });
}

function stepsOf(kinds: Readonly<Record<string, Readonly<Record<string, Check>>>>): Check {
  return (value, what) => {
    for (const [place, each] of list(value, what).entries()) {
      const step = record(each, what);
      const kind = string(step['kind'], `${what}: "kind"`);
      const where = `${what}: step ${place + 1}`;
      const fields = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
      if (fields === undefined) throw new ScenarioFormatError(`${where} is of the unknown kind "${kind}"`);
      only(step, `${where} (${kind})`, fields);
    }
  };
}

const STEP_FIELDS: Readonly<Record<MemberStep['kind'], Readonly<Record<string, Check>>>> = {
  add: { kind: string, atMs: number, server: positive, observer: boolean, startAfterMs: number },
  promote: { kind: string, atMs: number, server: positive },
  remove: { kind: string, atMs: number, server: (value, what) => value === LEADER || positive(value, what) },
  'lose-disk': { kind: string, atMs: number, server: positive },
};

const STRANGER_FIELDS: Readonly<Record<StrangerStep['kind'], Readonly<Record<string, Check>>>> = {
  intrude: {
    kind: string,
    atMs: number,
    server: positive,
    as: integer,
    purpose: (value, what) => oneOf(value, what, ['log', 'snapshot', 'expulsion']),
    hasty: boolean,
  },
  usurp: { kind: string, atMs: number, forMs: number, server: positive },
  replay: { kind: string, atMs: number, server: positive },
};

const lasting = { kind: string, atMs: number, forMs: number };
const timed = { kind: string, atMs: number };

const FAULT_FIELDS: Readonly<Record<FaultKind, Readonly<Record<string, Check>>>> = {
  crash: { ...lasting, hosts: strings, tear: (value, what) => oneOf(value, what, ['none', 'all', 'random']) },
  kill: { ...lasting, hosts: strings },
  stop: { ...lasting, host: string },
  pause: { ...lasting, host: string },
  partition: { ...lasting, groups: (value, what) => list(value, what).map((group) => strings(group, what)) },
  cut: { ...lasting, from: string, to: string },
  clog: { ...lasting, from: string, to: string },
  break: { ...timed, hosts: strings },
  loss: { ...lasting, chance: number },
  dials: { ...lasting, from: string, to: string, mode: (value, what) => oneOf(value, what, ['refused', 'hanging']) },
  'slow-network': { ...lasting, latency: delay },
  'slow-disk': { ...lasting, host: string, latency: delay },
  'hung-disk': { ...lasting, host: string },
  'disk-error': {
    ...lasting,
    host: string,
    operation: (value, what) => oneOf(value, what, ['append', 'sync', 'read']),
  },
  'full-disk': { ...lasting, host: string },
  'bit-flip': { ...timed, host: string, at: number, bit: integer },
  'wall-jump': { ...timed, host: string, byMs: number },
  'clock-rate': {
    ...lasting,
    host: string,
    clock: (value, what) => oneOf(value, what, ['monotonic', 'wall']),
    rate: number,
  },
};

function checkFault(value: unknown, what: string): Fault {
  const fields = record(value, what);
  const kind = string(fields['kind'], `${what}: "kind"`);
  if (!Object.hasOwn(FAULT_FIELDS, kind)) throw new ScenarioFormatError(`${what} is of the unknown kind "${kind}"`);
  only(fields, `${what} (${kind})`, FAULT_FIELDS[kind as FaultKind]);
  return fields as unknown as Fault;
}

/** All of these fields, and no others. */
function only(fields: Fields, what: string, checks: Readonly<Record<string, Check>>): void {
  for (const name of Object.keys(fields)) {
    if (!Object.hasOwn(checks, name)) throw new ScenarioFormatError(`${what} has the unknown field "${name}"`);
  }
  for (const [name, check] of Object.entries(checks)) check(fields[name], `${what}: "${name}"`);
}

function delay(value: unknown, what: string): void {
  const fields = record(value, what);
  const mean = 'meanMs' in fields ? { meanMs: number } : {};
  only(fields, what, { minMs: number, maxMs: number, ...mean });
}

function record(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ScenarioFormatError(`${what} is ${quote(value)}, not an object`);
  }
  return value as Fields;
}

function list(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new ScenarioFormatError(`${what} is ${quote(value)}, not a list`);
  return value;
}

function strings(value: unknown, what: string): string[] {
  return list(value, what).map((each) => string(each, what));
}

function string(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new ScenarioFormatError(`${what} is ${quote(value)}, not a text`);
  return value;
}

function number(value: unknown, what: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new ScenarioFormatError(`${what} is ${quote(value)}, not a number`);
  }
  return value;
}

function boolean(value: unknown, what: string): boolean {
  if (typeof value !== 'boolean') throw new ScenarioFormatError(`${what} is ${quote(value)}, not true or false`);
  return value;
}

function isTrue(value: unknown, what: string): void {
  oneOf(value, what, [true]);
}

function integer(value: unknown, what: string): number {
  if (!Number.isInteger(value)) throw new ScenarioFormatError(`${what} is ${quote(value)}, not a whole number`);
  return value as number;
}

function positive(value: unknown, what: string): number {
  if (integer(value, what) < 1) throw new ScenarioFormatError(`${what} is ${quote(value)}, and must be at least 1`);
  return value as number;
}

function oneOf(value: unknown, what: string, allowed: readonly unknown[]): void {
  if (!allowed.includes(value)) {
    throw new ScenarioFormatError(`${what} is ${quote(value)}, and must be one of ${allowed.map(quote).join(', ')}`);
  }
}

function quote(value: unknown): string {
  return value === undefined ? 'missing' : (JSON.stringify(value) ?? typeof value);
}
