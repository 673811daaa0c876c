/** `lockctl members` and `lockctl member add|promote|remove`. */

import type { AnswerSources } from '../answer-sources.ts';
import type { MembersAnswer, OperatorClient } from '../ensemble-client.ts';
import type { Environment } from '../environment.ts';
import { UsageFailure } from '../failure.ts';
import { writeJson } from '../output/json.ts';
import { renderTable } from '../output/table.ts';

export async function listMembers(
  client: OperatorClient,
  json: boolean,
  sources: AnswerSources,
  outside: Environment,
): Promise<void> {
  const answer = await client.admin.members(sources.options);
  if (json) return writeJson(outside, { ...answer, ...sources.reported });
  const { leader, members } = answer;
  const rows = members.map(({ server, role, peerAddress, clientAddress, connected }) => [
    String(server),
    server === leader ? `${role}, leads` : role,
    peerAddress,
    clientAddress === '' ? '-' : clientAddress,
    connected ? 'yes' : 'no',
  ]);
  outside.writeOut(renderTable(['SERVER', 'ROLE', 'PEER ADDRESS', 'CLIENT ADDRESS', 'CONNECTED'], rows));
}

export interface NewMember {
  readonly server: number;
  readonly peerAddress: string;
  readonly observer: boolean;
  readonly joinSecret: string;
}

const VARIABLE = 'HOLDFAST_JOIN_SECRET';

export async function addMember(
  client: OperatorClient,
  { server, peerAddress, observer, joinSecret }: NewMember,
  json: boolean,
  outside: Environment,
): Promise<void> {
  const answer = await client.admin.addMember(server, peerAddress, { observer, joinSecret });
  if (json) return writeJson(outside, answer);
  const next = observer ? 'It stays without a vote.' : 'It becomes a voter by itself once it has caught up.';
  outside.writeOut(`Server ${server} is ${roleOf(answer, server)} now. ${next} "lockctl members" shows it.\n`);
}

/** Arguments are seen by every user of the machine, so it may come from the environment or from standard input as well. */
export async function joinSecretOf(given: string | undefined, outside: Environment): Promise<string> {
  const text =
    given === '-' ? new TextDecoder().decode(await outside.readInput()) : (given ?? outside.variables[VARIABLE]);
  const secret = text?.trim() ?? '';
  if (secret !== '') return secret;
  throw new UsageFailure(
    `--join-secret is missing: the server prints it while it waits to be added with --join (or - for standard input, or ${VARIABLE})`,
  );
}

export async function promoteMember(
  client: OperatorClient,
  server: number,
  json: boolean,
  outside: Environment,
): Promise<void> {
  const answer = await client.admin.promoteMember(server);
  if (json) return writeJson(outside, answer);
  outside.writeOut(`Server ${server} is ${roleOf(answer, server)} now.\n`);
}

export async function removeMember(
  client: OperatorClient,
  server: number,
  json: boolean,
  outside: Environment,
): Promise<void> {
  const answer = await client.admin.removeMember(server);
  if (json) return writeJson(outside, answer);
  outside.writeOut(`Server ${server} is removed. Its process ends with 71, and its number is never used again.\n`);
}

/** By the time of the answer it may have become more than was asked for, or less. */
function roleOf({ members }: MembersAnswer, server: number): string {
  const role = members.find((member) => member.server === server)?.role;
  if (role === undefined) return 'no member';
  if (role === 'unknown') return 'a member in a role that only a later lockctl knows';
  return role === 'observer' ? 'an observer' : role === 'leaving' ? 'leaving' : `a ${role}`;
}
