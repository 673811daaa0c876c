/** What the launcher prints once everything serves: a table, and what to try next. */

import { relative } from 'node:path';

import { DEFAULT_BASE_PORT, clientAddress, fencedKvAddress, peerAddress } from '../addresses.ts';

export interface GuideFacts {
  readonly servers: readonly number[];
  readonly basePort: number;
  readonly dataDirectory: string;
  /** Undefined when none is known. */
  readonly leader: number | undefined;
}

export function renderGuide(facts: GuideFacts, workingDirectory: string): string {
  const fromHere = relative(workingDirectory, facts.dataDirectory) || '.';
  const directory = fromHere.startsWith('..') ? facts.dataDirectory : fromHere;
  const data = (name: string): string => `${directory}/${name}`;
  const rows = [
    ['', 'clients', 'peers', 'data', ''],
    ...facts.servers.map((id) => [
      `lockd ${id}`,
      clientAddress(facts.basePort, id),
      peerAddress(facts.basePort, id),
      data(`server-${id}`),
      id === facts.leader ? 'leader' : '',
    ]),
    ['fenced-kvd', `http://${fencedKvAddress(facts.basePort)}`, '', data('fenced-kv'), ''],
  ];
  const addresses = facts.servers.map((id) => clientAddress(facts.basePort, id)).join(',');
  const atDefault = facts.basePort === DEFAULT_BASE_PORT && facts.servers.length === 3;
  const lockctl = `npx -y pnpm@12 lockctl${atDefault ? '' : ` --servers ${addresses}`}`;
  return [
    'Everything serves:',
    '',
    ...table(rows).map((line) => `  ${line}`),
    '',
    'Try next, in another terminal:',
    '',
    `  ${lockctl} status`,
    `  ${lockctl} lock demo -- sh -c 'echo holding demo with token $HOLDFAST_TOKEN; sleep 5'`,
    `  ${lockctl} locks`,
    `  curl http://${clientAddress(facts.basePort, facts.servers[0] ?? 1)}/status`,
    '  npx -y pnpm@12 demo',
    '',
    `Logs are in ${data('logs')}. Ctrl-C stops everything; the data stays for the next start (--fresh deletes it).`,
  ].join('\n');
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
