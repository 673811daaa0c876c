/** txn: operations on nodes that are all done, or not at all. */

import type { TransactionResult } from '@holdfast/client';

import type { EnsembleClient } from '../../ensemble-client.ts';
import type { Environment } from '../../environment.ts';
import { UsageFailure } from '../../failure.ts';
import { writeJson } from '../../output/json.ts';
import { printable } from '../../output/text.ts';
import { readOperations } from './transaction-file.ts';

const STDIN = '-';

/** Before anything is connected: what is wrong with the file is said at once. @throws UsageFailure */
export async function readTransaction(file: string, outside: Environment): Promise<ReturnType<typeof readOperations>> {
  const bytes = file === STDIN ? await outside.readInput() : await outside.readFile(file);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UsageFailure(`${file === STDIN ? 'standard input' : file} is not UTF-8`);
  }
  return readOperations(text);
}

export async function runTransaction(
  client: EnsembleClient,
  operations: ReturnType<typeof readOperations>,
  json: boolean,
  outside: Environment,
): Promise<void> {
  const outcome = await client.nodes.transaction(operations);
  if (json) return writeJson(outside, outcome);
  outside.writeOut(`${outcome.results.map((result) => `${line(result)}\n`).join('')}done at index ${outcome.index}\n`);
}

function line(result: TransactionResult): string {
  const version = result.type === 'set' ? ` version ${result.version}` : '';
  return `${result.type} ${printable(result.path)}${version}`;
}
