/**
 * That this server may not vote, in a file of its own: its log has lost entries that it had acknowledged, and with its vote a majority
 * could elect a leader that lacks committed ones. The file is durable before anything of the damaged log is cut, and goes when a leader
 * that was elected without this server has brought it up to date, or when an operator says so.
 */

import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Disk } from '@holdfast/runtime';
import { term, type Term } from '../../core/index.ts';
import { DamagedLogError } from '../errors/damaged-log-error.ts';
import { readFileIfThere, removeIfThere, replaceFile } from '../files/durable-file.ts';

const VOTE_BAN_NAME = 'vote-ban';

const PATTERN = /^below term (\d{16}) ([0-9a-f]{8})\n$/;
const TERM_DIGITS = 16;

/**
 * The term in which the ban began, above every one in which this server has voted or acknowledged anything that it may have lost.
 * Undefined without a ban.
 * @throws DamagedLogError when it cannot be read
 */
export async function readVoteBan(directory: string, incarnation: string, disk: Disk): Promise<Term | undefined> {
  const path = join(directory, VOTE_BAN_NAME);
  const bytes = await readFileIfThere(path, disk);
  if (bytes === undefined) return undefined;
  const text = new TextDecoder().decode(bytes);
  const ban = term(Number(PATTERN.exec(text)?.[1] ?? 0));
  if (text !== banLine(ban, incarnation)) throw new DamagedLogError(path, 0, 'it does not say from which term on');
  return ban;
}

/** **Durable** on resolve. */
export function writeVoteBan(directory: string, incarnation: string, ban: Term, disk: Disk): Promise<void> {
  return replaceFile(join(directory, VOTE_BAN_NAME), new TextEncoder().encode(banLine(ban, incarnation)), disk);
}

/** **Durable** on resolve. */
export async function removeVoteBan(directory: string, disk: Disk): Promise<void> {
  await removeIfThere(join(directory, VOTE_BAN_NAME), disk);
  await disk.syncDirectory(directory);
}

function banLine(ban: Term, incarnation: string): string {
  const text = `below term ${String(ban).padStart(TERM_DIGITS, '0')}`;
  return `${text} ${crc32(text, crc32(incarnation)).toString(16).padStart(8, '0')}\n`;
}
