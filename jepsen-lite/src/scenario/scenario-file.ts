/** A scenario on disk, with what it showed: made by a failing run, replayed by `jepsen replay`. Every field is checked on reading. */

import { nemesisOf, type Fault } from '../nemeses/index.ts';
import type { Violation } from '../checkers/violation.ts';
import {
  checkFields,
  delay,
  integer,
  list,
  listOf,
  number,
  objectOf,
  choice,
  optional,
  positive,
  quote,
  record,
  ScenarioFormatError,
  text,
  type Fields,
  type FieldsOf,
} from '../plan/fields.ts';
import type { ClientPlan, Plan, ReplicationTuning, SnapshotTuning, Tuning } from '../plan/plan.ts';
import type { Scenario } from './scenario.ts';
import { WORKLOADS } from '../workloads/index.ts';

const FORMAT = 'holdfast-scenario';
const VERSION = 1;

export interface SavedScenario {
  readonly scenario: Scenario;
  readonly failure: Violation | undefined;
  readonly traceHash: string;
}

export function encodeScenario({ scenario, failure, traceHash }: SavedScenario): string {
  const { faults, ...rest } = scenario;
  const head = JSON.stringify({ format: FORMAT, version: VERSION, failure, traceHash, scenario: rest }, undefined, 2);
  // One fault a line, so that a person can read and edit the schedule.
  const lines = faults.map((fault) => `    ${JSON.stringify(fault)}`).join(',\n');
  return `${head.slice(0, head.lastIndexOf('}')).trimEnd()},\n  "faults": [\n${lines}\n  ]\n}\n`;
}

/** @throws ScenarioFormatError */
export function decodeScenario(content: string): SavedScenario {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    throw new ScenarioFormatError(`it is not JSON (${(error as Error).message})`);
  }
  const file = record(value, 'the file');
  if (file['format'] !== FORMAT) throw new ScenarioFormatError(`"format" is not "${FORMAT}"`);
  if (file['version'] !== VERSION)
    throw new ScenarioFormatError(`"version" is ${quote(file['version'])}, not ${VERSION}`);
  const rest = record(file['scenario'], '"scenario"');
  const faults = list(file['faults'], '"faults"').map((fault, place) => checkFault(fault, `fault ${place + 1}`));
  const plan = checkFields(rest, 'scenario', PLAN) as unknown as Plan;
  const failure =
    file['failure'] === undefined ? undefined : (record(file['failure'], '"failure"') as unknown as Violation);
  const traceHash = text.check(file['traceHash'], '"traceHash"');
  return { scenario: { ...plan, faults }, failure, traceHash };
}

const CLIENT: FieldsOf<ClientPlan> = {
  name: text,
  sessionTimeoutMs: positive,
  workers: positive,
  maxPauseMs: optional(positive),
  workloads: optional(listOf(choice(WORKLOADS.map(({ name }) => name)))),
  longSteps: optional(positive),
  careless: optional(choice([true])),
  bursts: optional(choice([true])),
  readEveryMs: optional(positive),
  bulkBytesPerSecond: optional(positive),
  sessions: optional(positive),
  crowd: optional(positive),
};

const TUNING: FieldsOf<Tuning> = { electionTimeoutMs: positive, heartbeatMs: positive, segmentBytes: positive };

const SNAPSHOTS: FieldsOf<SnapshotTuning> = {
  logBytes: positive,
  sliceBytes: positive,
  chunkBytes: positive,
  bytesPerSecond: positive,
  trailingBytes: integer,
};

const REPLICATION: FieldsOf<ReplicationTuning> = { maxInflightMessages: positive, maxAppendBytes: positive };

const PLAN: FieldsOf<Plan> = {
  version: choice([1]),
  seed: integer,
  servers: choice([3, 5]),
  clients: listOf(objectOf(CLIENT), (what) => `${what}: a client`),
  locks: positive,
  tuning: objectOf(TUNING),
  network: delay,
  disk: delay,
  durationMs: positive,
  replicas: optional(choice([3])),
  snapshots: optional(objectOf(SNAPSHOTS)),
  replication: optional(objectOf(REPLICATION)),
  olderLockd: optional(text),
};

function checkFault(value: unknown, what: string): Fault {
  const fault = record(value, what);
  const kind = text.check(fault['kind'], `${what}: "kind"`);
  const nemesis = nemesisOf(kind);
  if (nemesis === undefined) throw new ScenarioFormatError(`${what} is of the unknown kind "${kind}"`);
  const times: Fields = nemesis.lasts ? { atMs: number, forMs: number } : { atMs: number };
  return checkFields(fault, `${what} (${kind})`, { kind: text, ...times, ...nemesis.fields }) as unknown as Fault;
}
