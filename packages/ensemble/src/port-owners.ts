/**
 * Which processes listen on ports that an ensemble needs, so that whoever starts it knows what to stop. Only what this user may see is found:
 * sockets of another user's process have no owner here. Linux says it in /proc, other systems through `lsof`.
 */

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface PortOwner {
  readonly pid: number;
  /** As it was started; empty where that cannot be read. */
  readonly command: string;
}

/** How much of a command line is shown. */
const MAX_COMMAND = 80;
/** `ps` and `lsof` answer at once, or are not waited for. */
const TOOL_TIMEOUT_MS = 2_000;
const LISTENING = '0A';

/** What listens on each of the ports; one that is not here has no owner that this user may see. */
export function portOwners(ports: readonly number[]): ReadonlyMap<number, PortOwner> {
  try {
    return process.platform === 'linux' ? ownersInProc(ports) : ownersByLsof(ports);
  } catch {
    return new Map();
  }
}

/** "127.0.0.1:7101 and 127.0.0.1:7201 are in use by process 4711 (node lockd …)", for each owner. */
export function describeTaken(addresses: readonly string[], owners: ReadonlyMap<number, PortOwner>): string {
  const groups = new Map<string, string[]>();
  for (const address of addresses) {
    const owner = owners.get(Number(address.split(':').at(-1)));
    const who =
      owner === undefined ? '' : ` by process ${owner.pid}${owner.command === '' ? '' : ` (${owner.command})`}`;
    groups.set(who, [...(groups.get(who) ?? []), address]);
  }
  return [...groups]
    .map(([who, all]) => `${all.join(', ')} ${all.length === 1 ? 'is' : 'are'} in use${who}`)
    .join('; ');
}

function ownersInProc(ports: readonly number[]): Map<number, PortOwner> {
  const portOf = new Map(['tcp', 'tcp6'].flatMap((table) => listeningSockets(`/proc/net/${table}`, ports)));
  const owners = new Map<number, PortOwner>();
  if (portOf.size === 0) return owners;
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    for (const inode of socketsOf(entry)) {
      const port = portOf.get(inode);
      // Children may have inherited the socket: the one that was there first has made it.
      if (port !== undefined && !owners.has(port)) owners.set(port, { pid: Number(entry), command: commandOf(entry) });
    }
  }
  return owners;
}

/** The inode of each socket that listens on one of the ports, and that port. */
function listeningSockets(table: string, ports: readonly number[]): (readonly [string, number])[] {
  let text: string;
  try {
    text = readFileSync(table, 'utf8');
  } catch {
    // Without IPv6 there is no table of it.
    return [];
  }
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
      const port = Number.parseInt(local.split(':').at(-1) ?? '', 16);
      return state === LISTENING && ports.includes(port) ? [[inode, port] as const] : [];
    });
}

/** The inodes of its sockets; none of a process that has ended or is another user's. */
function socketsOf(pid: string): string[] {
  let descriptors: readonly string[];
  try {
    descriptors = readdirSync(`/proc/${pid}/fd`);
  } catch {
    return [];
  }
  return descriptors.flatMap((descriptor) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${descriptor}`))?.[1] ?? [];
    } catch {
      return [];
    }
  });
}

function commandOf(pid: string): string {
  try {
    return shortened(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' '));
  } catch {
    return '';
  }
}

function ownersByLsof(ports: readonly number[]): Map<number, PortOwner> {
  const owners = new Map<number, PortOwner>();
  for (const port of ports) {
    const pid = Number(answerOf('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-t']).split('\n')[0]);
    if (pid > 0) owners.set(port, { pid, command: shortened(answerOf('ps', ['-o', 'command=', '-p', String(pid)])) });
  }
  return owners;
}

function answerOf(tool: string, args: readonly string[]): string {
  return spawnSync(tool, args, { encoding: 'utf8', timeout: TOOL_TIMEOUT_MS }).stdout ?? '';
}

/** On one line, without what a terminal would obey. */
function shortened(command: string): string {
  const line = command.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
  return line.length <= MAX_COMMAND ? line : `${line.slice(0, MAX_COMMAND)}…`;
}
