/**
 * The scripts. Each begins with the check, which installs the token as well, and goes on with commands: nothing comes between, since Redis runs
 * one script at a time.
 *
 * Lua's numbers are doubles, and those of other clients may be beyond 2^53. So tokens are kept and compared as text of twenty digits, which
 * has their order.
 */

import { StaleTokenError, FenceError } from '@holdfast/fence';
import { scriptOf, type Replies, type Script } from './client.ts';
import { fenceKey } from './keys.ts';

const DIGITS = 20;

export function padded(token: number): string {
  return String(token).padStart(DIGITS, '0');
}

/** KEYS[1] where the floor is. What it is mostly, ARGV[2], needs no look at its form. */
const LOOK = `
local stored = redis.pcall('GET', KEYS[1])
if stored and stored ~= ARGV[2] and (type(stored) ~= 'string' or #stored ~= ${DIGITS} or string.find(stored, '%D')) then
  return {'unknown'}
end
`;

/** ARGV[1] the token, ARGV[2] the floor. */
export const CHECK = `${LOOK}
if stored and ARGV[1] < stored then return {'stale', stored} end
if not stored or stored < ARGV[2] then redis.call('SET', KEYS[1], ARGV[2]) end
`;

/** For each command: how many keys, how many arguments, its name, its arguments. Redis does not roll back, so the first failure ends it. */
export const COMMANDS = `
if #KEYS == 2 then
  -- One command of one key, as most are.
  local reply = redis.pcall(ARGV[5], KEYS[2], unpack(ARGV, 6))
  if type(reply) == 'table' and reply.err then return {'failed', 1, reply.err} end
  return {'ok', reply}
end
local replies, key, at = {'ok'}, 2, 3
while at <= #ARGV do
  local keys, arguments, call = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), {ARGV[at + 2]}
  for place = key, key + keys - 1 do call[#call + 1] = KEYS[place] end
  for place = at + 3, at + 2 + arguments do call[#call + 1] = ARGV[place] end
  key, at = key + keys, at + 3 + arguments
  local reply = redis.pcall(unpack(call))
  if type(reply) == 'table' and reply.err then return {'failed', #replies, reply.err} end
  replies[#replies + 1] = reply
end
return replies
`;

/** The scripts of a fence. Tests put broken ones in their place. */
export interface Scripts {
  /** The check and nothing else. */
  readonly install: Script;
  /** The check and commands. */
  readonly commands: Script;
  /** What a script of the application is put behind. */
  readonly check: string;
}

export const SCRIPTS: Scripts = {
  install: scriptOf(`${CHECK}\nreturn {'ok'}`),
  commands: scriptOf(CHECK + COMMANDS),
  check: CHECK,
};

export const HIGHEST: Script = scriptOf(`${LOOK}\nreturn {'ok', stored or ''}`);

const PARTS = ['memory', 'persistence', 'replication'].map((part) => `redis.call('INFO', '${part}')`);

export const INFO: Script = scriptOf(`return {'ok', ${PARTS.join(', ')}}`);

/** A script of the application, with its own KEYS and ARGV, behind the check. */
export function behindCheck(check: string, lua: string): Script {
  return scriptOf(`${check}
local KEYS, ARGV = {unpack(KEYS, 2)}, {unpack(ARGV, 3)}
local run = function()
${lua}
end
return {'ok', (run())}
`);
}

/**
 * @param names of the commands
 * @returns the replies of the commands
 * @throws StaleTokenError; FenceError RESOURCE that says which command failed, and what was done before it; SCHEMA_VERSION
 */
export function repliesOf(answer: Replies, scope: string, token: number, names: readonly string[] = []): Replies {
  const [outcome, ...rest] = answer;
  switch (String(outcome)) {
    case 'ok':
      return rest;
    case 'stale':
      throw new StaleTokenError(scope, token, Number(String(rest[0])));
    case 'failed':
      throw failedCommand(Number(rest[0]), String(rest[1]), names);
    default: {
      const text = `the key ${JSON.stringify(fenceKey(scope))} holds no token as this version keeps them`;
      const newer = 'it was made by a newer version of @holdfast/fence-redis, so install that';
      throw new FenceError('SCHEMA_VERSION', `${text}: ${newer}; or something else writes there`);
    }
  }
}

/** @param place of the command, from 1 */
function failedCommand(place: number, message: string, names: readonly string[]): FenceError {
  const before = place - 1;
  const done = before === 0 ? 'nothing was written' : `Redis does not roll back, and the ${before} before it were done`;
  const what = `command ${place} of ${names.length} (${names[before] ?? ''}) failed: ${message}; ${done}`;
  return new FenceError('RESOURCE', what, { cause: new Error(message), indeterminate: before > 0 });
}
