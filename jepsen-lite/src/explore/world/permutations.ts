/**
 * Servers that begin alike are interchangeable: two worlds that differ only in who is who are one. A permutation maps the position of a
 * server to its new one.
 */

import {
  EntryType,
  decodeConfiguration,
  encodeConfiguration,
  serverId,
  type Configuration,
  type Entry,
  type MembershipChange,
  type ServerId,
} from '@holdfast/raft/core';

import type { Snapshot } from '../../cores/disk.ts';
import { addressOf, type Parcel, type ServerAction } from '../server/server.ts';

export type Permutation = readonly number[];

/** Of the first `voters` of `servers` positions; the identity first. */
export function permutationsOf(servers: number, voters: number): readonly Permutation[] {
  const rest = Array.from({ length: servers - voters }, (_, position) => voters + position);
  return orders(Array.from({ length: voters }, (_, position) => position)).map((order) => [...order, ...rest]);
}

function orders(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) => orders(items.filter((other) => other !== item)).map((rest) => [item, ...rest]));
}

/** First `one`, then `other`. */
export function composed(one: Permutation, other: Permutation): Permutation {
  return one.map((position) => placed(position, other));
}

export function inverse(permutation: Permutation): Permutation {
  return permutation.map((_, position) => permutation.indexOf(position));
}

export function placed(position: number, permutation: Permutation): number {
  const place = permutation[position];
  if (place === undefined) throw new RangeError(`no server at position ${position}`);
  return place;
}

function renamedId(id: ServerId, permutation: Permutation): ServerId {
  return serverId(placed(id - 1, permutation) + 1);
}

export function renamedEntry(entry: Entry, permutation: Permutation): Entry {
  if (entry.type !== EntryType.configuration) return entry;
  return { ...entry, data: renamedConfiguration(entry.data, permutation) };
}

export function renamedAction(action: ServerAction, permutation: Permutation): ServerAction {
  switch (action.type) {
    case 'hear':
      return {
        ...action,
        from: renamedId(action.from, permutation),
        parcel: renamedParcel(action.parcel, permutation),
      };
    case 'change':
      return { ...action, change: renamedChange(action.change, permutation) };
    case 'transfer':
      return { ...action, target: renamedId(action.target, permutation) };
    case 'reconnect':
      return { ...action, peer: renamedId(action.peer, permutation) };
    case 'stand':
    case 'beat':
    case 'write':
    case 'crash':
    case 'damage':
    case 'propose':
    case 'read':
    case 'snapshot':
      return action;
  }
}

export function renamedParcel(parcel: Parcel, permutation: Permutation): Parcel {
  if (parcel.type === 'snapshot') return { ...parcel, snapshot: renamedSnapshot(parcel.snapshot, permutation) };
  if (parcel.type !== 'append') return parcel;
  return { ...parcel, entries: parcel.entries.map((entry) => renamedEntry(entry, permutation)) };
}

function renamedSnapshot({ position, state }: Snapshot, permutation: Permutation): Snapshot {
  const configuration = renamedConfiguration(position.configuration, permutation);
  return {
    position: { ...position, configuration },
    state: state.map((entry) => renamedEntry(entry, permutation)),
  };
}

function renamedChange(change: MembershipChange, permutation: Permutation): MembershipChange {
  const id = renamedId(change.id, permutation);
  return change.type === 'add' ? { ...change, id, peerAddress: addressOf(id) } : { ...change, id };
}

function renamedConfiguration(data: Uint8Array, permutation: Permutation): Uint8Array {
  const configuration = decodeConfiguration(data);
  const renamed = <T extends { readonly id: ServerId; readonly peerAddress: string }>(member: T): T => {
    const id = renamedId(member.id, permutation);
    return { ...member, id, peerAddress: addressOf(id) };
  };
  const next: Configuration = {
    ...configuration,
    members: configuration.members.map(renamed).toSorted((a, b) => a.id - b.id),
    retired: configuration.retired.map((id) => renamedId(id, permutation)).toSorted((a, b) => a - b),
    former: configuration.former.map(renamed),
  };
  return encodeConfiguration(next);
}
