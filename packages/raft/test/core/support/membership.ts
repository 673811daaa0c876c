/** Scripted cores whose members change: what is asked, what comes of it, and configurations as entries. */

import {
  EntryType,
  decodeConfiguration,
  encodeConfiguration,
  initialConfiguration,
  logIndex,
  serverId,
  term,
  type Configuration,
  type Effect,
  type Entry,
  type MembershipChange,
} from '../../../src/core/index.ts';
import { ScriptedCore, append, ofType } from './scripted-core.ts';

/** The members that it begins with. */
export const three = initialConfiguration([1, 2, 3].map((id) => ({ id: serverId(id), peerAddress: `host:${id}` })));
export const added = (id: number, role: 'learner' | 'observer' = 'learner') =>
  ({
    id: serverId(id),
    peerAddress: `host:${id}`,
    clientAddress: '',
    incarnation: '',
    joinSecret: '',
    role,
    outgoing: false,
  }) as const;

let tickets = 0;

export function change(core: ScriptedCore, wanted: MembershipChange): Effect[] {
  tickets += 1;
  return core.step({ type: 'change-membership', ticket: tickets, change: wanted });
}

export const add = (id: number, observer = false): MembershipChange => ({
  type: 'add',
  id: serverId(id),
  peerAddress: `host:${id}`,
  observer,
});
export const remove = (id: number): MembershipChange => ({ type: 'remove', id: serverId(id) });
export const promote = (id: number): MembershipChange => ({ type: 'promote', id: serverId(id) });

export function outcomes(effects: readonly Effect[]): unknown[] {
  return ofType(effects, 'membership-ended').map(({ outcome }) => outcome);
}

export function configurations(effects: readonly Effect[]): Configuration[] {
  return ofType(effects, 'persist')
    .flatMap(({ entries }) => entries)
    .filter(({ type }) => type === EntryType.configuration)
    .map(({ data }) => decodeConfiguration(data));
}

/** Everything so far is durable at this leader and at those peers. */
export function makeDurable(core: ScriptedCore, ...peers: number[]): Effect[] {
  const effects = [...core.durable()];
  for (const peer of peers) effects.push(...core.acknowledge(peer, core.status.lastIndex));
  return effects;
}

export function leader(): ScriptedCore {
  const core = new ScriptedCore();
  core.leadInSync();
  return core;
}

/** Leads four, the last of them a learner that is connected. */
export function withLearner(observer = false): ScriptedCore {
  const core = leader();
  change(core, add(4, observer));
  makeDurable(core, 2);
  core.step({ type: 'peer-connected', peer: serverId(4) });
  return core;
}

export function configurationEntry(index: number, entryTerm: number, configuration: Configuration): Entry {
  const data = encodeConfiguration(configuration);
  return { index: logIndex(index), term: term(entryTerm), type: EntryType.configuration, data };
}

export function appendOf(
  messageTerm: number,
  [prevIndex, prevTerm]: readonly [number, number],
  entries: readonly Entry[],
) {
  return { ...append(messageTerm, [prevIndex, prevTerm]), entries } as ReturnType<typeof append>;
}
