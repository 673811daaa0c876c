/** The node commands: ls, get, stat, create, set, delete. Nodes made here outlive this program. */

import type { Stat } from '@holdfast/protocol';

import type { AnswerSources } from '../answer-sources.ts';
import type { EnsembleClient, OperatorClient } from '../ensemble-client.ts';
import type { Environment } from '../environment.ts';
import { CommandFailure } from '../failure.ts';
import { writeJson } from '../output/json.ts';
import { printable, printableLines } from '../output/text.ts';

const STDIN = '-';

export async function listChildren(
  client: OperatorClient,
  path: string,
  json: boolean,
  sources: AnswerSources,
  outside: Environment,
): Promise<void> {
  const { names, stat } = await client.nodes.children(path, sources.options);
  if (json) return writeJson(outside, { path, names, stat, ...sources.reported });
  outside.writeOut(names.map((name) => `${printable(name)}\n`).join(''));
}

/** Writes the bytes as they are, but to a terminal what is safe there; with `json` as base64, and as text where they are UTF-8. */
export async function getNode(
  client: OperatorClient,
  path: string,
  json: boolean,
  sources: AnswerSources,
  outside: Environment,
): Promise<void> {
  const { data, stat, hasData, container, ttlMs } = await client.nodes.get(path, sources.options);
  if (!json) {
    outside.writeOut(outside.outputIsTerminal ? printableLines(new TextDecoder().decode(data)) : data);
    return;
  }
  writeJson(outside, {
    path,
    data: Buffer.from(data).toString('base64'),
    text: asText(data),
    hasData,
    container,
    ttlMs: ttlMs ?? null,
    stat,
    ...sources.reported,
  });
}

export async function statNode(
  client: OperatorClient,
  path: string,
  json: boolean,
  sources: AnswerSources,
  outside: Environment,
): Promise<void> {
  const stat = await client.nodes.exists(path, sources.options);
  if (stat === undefined)
    throw new CommandFailure(`no node exists at "${printable(path)}"; see what is there with "lockctl ls"`);
  if (json) return writeJson(outside, { path, stat, ...sources.reported });
  outside.writeOut(renderStat(stat));
}

export async function createNode(
  client: EnsembleClient,
  {
    path,
    value,
    ...kind
  }: {
    readonly path: string;
    readonly value: string | undefined;
    readonly sequential: boolean;
    readonly container: boolean;
    readonly ttlMs?: number;
  },
  json: boolean,
  outside: Environment,
): Promise<void> {
  const created = await client.nodes.create(path, await readValue(value ?? '', outside), kind);
  if (json) return writeJson(outside, created);
  outside.writeOut(`${printable(created.path)}\n`);
}

export async function setNode(
  client: EnsembleClient,
  { path, value, version }: { readonly path: string; readonly value: string; readonly version: number | undefined },
  json: boolean,
  outside: Environment,
): Promise<void> {
  const data = await readValue(value, outside);
  const stat = await client.nodes.set(path, data, version === undefined ? {} : { version });
  if (json) return writeJson(outside, { path, stat });
  outside.writeOut(`version ${stat.version}\n`);
}

export async function deleteNode(
  client: OperatorClient,
  { path, version }: { readonly path: string; readonly version: number | undefined },
  json: boolean,
  outside: Environment,
): Promise<void> {
  await client.nodes.delete(path, version === undefined ? {} : { version });
  if (json) writeJson(outside, { deleted: path });
}

async function readValue(value: string, outside: Environment): Promise<Uint8Array> {
  return value === STDIN ? await outside.readInput() : new TextEncoder().encode(value);
}

function asText(data: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return null;
  }
}

function renderStat(stat: Stat): string {
  const time = (ms: number): string => new Date(ms).toISOString();
  const fields: readonly (readonly [string, string])[] = [
    ['created', `${time(stat.ctime)} at index ${stat.czxid}`],
    ['modified', `${time(stat.mtime)} at index ${stat.mzxid}`],
    ['version', String(stat.version)],
    ['children', `${stat.numChildren} (changed ${stat.cversion} times, last at index ${stat.pzxid})`],
    ['data', `${stat.dataLength} bytes`],
    ['owner', stat.ephemeralOwner === 0 ? 'none: persistent' : `session ${stat.ephemeralOwner}: ephemeral`],
  ];
  return fields.map(([name, value]) => `${name.padEnd(10)}${value}\n`).join('');
}
