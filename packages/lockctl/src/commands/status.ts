/** `lockctl status`: asks every server by HTTP, needs no session, and shows those that do not answer too. */

import type { Environment } from '../environment.ts';
import { CommandFailure } from '../failure.ts';
import { writeJson } from '../output/json.ts';
import { renderTable } from '../output/table.ts';

/** What is shown of a server; the fields are those of its `GET /status`. */
type ServerReport =
  | {
      readonly address: string;
      readonly reachable: true;
      readonly id: number;
      readonly role: string;
      /** Its place among the members, as it knows it; empty for a server that is none, or does not say so. */
      readonly member: string;
      readonly term: number;
      /** 0 while it knows none. */
      readonly leader: number;
      readonly commitIndex: number;
      readonly appliedIndex: number;
      /** Entries that another server is known to have committed and this one has not applied. */
      readonly lag: number;
      readonly sessions: number;
      readonly locks: number;
      /** Undefined while the server cannot ask its disk, and of servers that do not report it. */
      readonly diskFreeBytes: number | undefined;
      readonly diskLow: boolean;
      /** The server for whose disk writes are refused; 0 for none. */
      readonly writesRefusedFor: number;
      readonly version: string;
      /** By which rules entries are applied; 1 of servers that do not report it. */
      readonly stateVersion: number;
    }
  | { readonly address: string; readonly reachable: false; readonly problem: string };

/** What is shown of a server's reason not to answer. */
const MAX_REASON_LENGTH = 300;

type Reachable = Extract<ServerReport, { reachable: true }>;

export async function showStatus(
  servers: readonly string[],
  timeoutMs: number,
  json: boolean,
  outside: Environment,
): Promise<void> {
  const answers = await Promise.all(servers.map((address) => askServer(address, timeoutMs, outside)));
  const commitIndex = Math.max(0, ...answers.filter(isReachable).map((answer) => answer.commitIndex));
  const reports = answers.map((answer) =>
    answer.reachable ? { ...answer, lag: Math.max(0, commitIndex - answer.appliedIndex) } : answer,
  );
  if (json) writeJson(outside, { servers: reports });
  else outside.writeOut(renderStatus(reports));
  const reachable = reports.filter(isReachable);
  const { writesRefusedFor } = reachable.find((report) => report.role === 'leader') ?? { writesRefusedFor: 0 };
  if (writesRefusedFor !== 0 && !json) {
    outside.writeOut(`writes are refused: the disk of server ${writesRefusedFor} is almost full; free space there
`);
  }
  if (reachable.length === 0) {
    throw new CommandFailure(
      'no server answered; is the ensemble running? Name its servers with --servers or HOLDFAST_SERVERS',
    );
  }
  if (!reachable.some((report) => report.leader !== 0)) {
    throw new CommandFailure('no server knows a leader; a majority of the servers must run and reach each other');
  }
}

async function askServer(address: string, timeoutMs: number, outside: Environment): Promise<ServerReport> {
  try {
    const response = await outside.fetch(`http://${address}/status`, { signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) return { address, reachable: false, problem: await describeRefusal(response) };
    return readStatus(address, await response.json());
  } catch (error) {
    return { address, reachable: false, problem: describeProblem(error, timeoutMs) };
  }
}

/** With the reason that a lockd gives; a proxy's page would say less. */
async function describeRefusal(response: Response): Promise<string> {
  const isPlain = response.headers.get('content-type')?.startsWith('text/plain') === true;
  const [reason = ''] = isPlain ? (await response.text()).slice(0, MAX_REASON_LENGTH).split('\n', 1) : [];
  return reason === '' ? `answered ${response.status}` : `answered ${response.status}: ${reason}`;
}

function readStatus(address: string, body: unknown): ServerReport {
  if (typeof body !== 'object' || body === null || !('role' in body)) {
    return { address, reachable: false, problem: 'what answers there is not a lockd' };
  }
  const fields = body as Readonly<Record<string, unknown>>;
  const number = (name: string): number => (typeof fields[name] === 'number' ? fields[name] : 0);
  const disk = (fields['disk'] ?? {}) as Readonly<Record<string, unknown>>;
  return {
    address,
    reachable: true,
    id: number('id'),
    role: String(fields['role']),
    member: memberRole(fields),
    term: number('term'),
    leader: number('leader'),
    commitIndex: number('commitIndex'),
    appliedIndex: number('appliedIndex'),
    lag: 0,
    sessions: number('sessions'),
    locks: number('locks'),
    diskFreeBytes: typeof disk['freeBytes'] === 'number' ? disk['freeBytes'] : undefined,
    diskLow: disk['low'] === true,
    writesRefusedFor: typeof disk['writesRefusedFor'] === 'number' ? disk['writesRefusedFor'] : 0,
    version: typeof fields['version'] === 'string' ? fields['version'] : '',
    stateVersion: number('stateVersion') || 1,
  };
}

function describeProblem(error: unknown, timeoutMs: number): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1_000} s`;
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  if (code === 'ECONNREFUSED') return 'refused: nothing listens there';
  return code ?? (error instanceof Error ? error.message : String(error));
}

function renderStatus(reports: readonly ServerReport[]): string {
  const header = [
    'SERVER',
    'ADDRESS',
    'ROLE',
    'TERM',
    'LEADER',
    'COMMIT',
    'APPLIED',
    'LAG',
    'SESSIONS',
    'LOCKS',
    'DISK FREE',
    'VERSION',
    'STATE VERSION',
  ];
  const rows = reports.map((report) =>
    report.reachable
      ? [
          String(report.id),
          report.address,
          roleText(report),
          String(report.term),
          report.leader === 0 ? '-' : String(report.leader),
          String(report.commitIndex),
          String(report.appliedIndex),
          String(report.lag),
          String(report.sessions),
          String(report.locks),
          diskText(report),
          report.version,
          String(report.stateVersion),
        ]
      : ['-', report.address, `unreachable (${report.problem})`],
  );
  return renderTable(header, rows);
}

function memberRole({ id, members }: Readonly<Record<string, unknown>>): string {
  const list: readonly unknown[] = Array.isArray(members) ? members : [];
  for (const member of list) {
    if (typeof member !== 'object' || member === null || !('id' in member) || !('role' in member)) continue;
    if (member.id === id) return String(member.role);
  }
  return '';
}

/** A learner and an observer follow too, which says less. */
function roleText({ role, member }: Reachable): string {
  return role === 'follower' && ['learner', 'observer', 'leaving'].includes(member) ? member : role;
}

/** In MiB: near the end, where it matters, gigabytes say too little. */
function diskText({ diskFreeBytes, diskLow }: Reachable): string {
  const free = diskFreeBytes === undefined ? '?' : `${Math.floor(diskFreeBytes / 2 ** 20)} MiB`;
  return diskLow ? `${free} LOW` : free;
}

function isReachable(report: ServerReport): report is Reachable {
  return report.reachable;
}
