/**
 * A Raft of a few servers without messages, whose logs now and then lose their ends. A vote, an append with its acknowledgement, a
 * commit are one step each; what a leader was acknowledged stays counted, even if it is lost meanwhile, as an answer may be under way.
 * Everything that may happen is gone through. In every world in which a leader begins, it must have all that is committed.
 */

import { permutationsOf, type Permutation } from '../world/permutations.ts';
import type { BannedOrNot, BanRules } from './rules.ts';

interface ModelServer extends BannedOrNot {
  /** In its term, for whoever it was. */
  readonly voted: boolean;
  /** Leads its term. */
  readonly leads: boolean;
  /** Hears that so much of its log is committed. */
  readonly commit: number;
  /** As leader, else without a meaning: what each server has acknowledged in its term. */
  readonly acknowledged: readonly number[];
}

interface ModelWorld {
  readonly servers: readonly ModelServer[];
  /** Terms of the committed entries. */
  readonly committed: readonly number[];
  readonly losses: number;
  readonly commands: number;
}

export interface ModelBounds {
  readonly servers: number;
  readonly terms: number;
  readonly losses: number;
  /** Entries beside the first one of each leader. */
  readonly commands: number;
}

/** Each of the rules is needed within these. */
export const MODEL_BOUNDS: ModelBounds = { servers: 3, terms: 3, losses: 1, commands: 1 };

export interface ModelResult {
  readonly worlds: number;
  readonly lifted: number;
  /** The steps to a leader that lacks what is committed, in words. */
  readonly broken: readonly string[] | undefined;
}

interface Next {
  readonly step: string;
  readonly world: ModelWorld;
}

interface Found extends Next {
  readonly before: Found | undefined;
}

/** Of worlds that differ only in who is who the first one that is found stands for all, under its own names. */
export function exploreModel(rules: BanRules, bounds: ModelBounds): ModelResult {
  const orders = permutationsOf(bounds.servers, bounds.servers);
  const first: Found = { step: '', world: firstWorld(bounds), before: undefined };
  const known = new Set([textOf(first.world, orders)]);
  const queue = [first];
  let lifted = 0;
  for (const found of queue) {
    for (const next of successors(found.world, rules, bounds)) {
      const text = textOf(next.world, orders);
      if (known.has(text)) continue;
      known.add(text);
      if (next.step.endsWith('may vote again')) lifted += 1;
      queue.push({ ...next, before: found });
      if (lacks(next.world)) return { worlds: queue.length, lifted, broken: stepsTo({ ...next, before: found }) };
    }
  }
  return { worlds: queue.length, lifted, broken: undefined };
}

function firstWorld({ servers }: ModelBounds): ModelWorld {
  const acknowledged = Array.from({ length: servers }, () => 0);
  const server: ModelServer = { term: 0, log: [], ban: undefined, voted: false, leads: false, commit: 0, acknowledged };
  return { servers: acknowledged.map(() => server), committed: [], losses: 0, commands: 0 };
}

function stepsTo(last: Found): string[] {
  const steps: string[] = [];
  for (let found: Found | undefined = last; found?.before !== undefined; found = found.before)
    steps.unshift(found.step);
  return steps;
}

function textOf({ servers, committed, losses, commands }: ModelWorld, orders: readonly Permutation[]): string {
  let least: string | undefined;
  for (const order of orders) {
    let text = '';
    for (const place of order) {
      const { term, ban, voted, leads, commit, log, acknowledged } = servers[place] as ModelServer;
      text += `${term}${ban ?? ''}${voted ? 'v' : ','}${commit}${log.join('')}`;
      text += leads ? `L${order.map((other) => acknowledged[other]).join('')};` : ';';
    }
    if (least === undefined || text < least) least = text;
  }
  return `${least}${committed.join('')}.${losses}.${commands}`;
}

/** A leader, in a term of its own, without something that is committed. */
function lacks({ servers, committed }: ModelWorld): boolean {
  const latest = committed.at(-1) ?? 0;
  return servers.some(
    ({ leads, term, log }) => leads && term > latest && committed.some((each, place) => log[place] !== each),
  );
}

function* successors(world: ModelWorld, rules: BanRules, bounds: ModelBounds): Generator<Next> {
  for (const [place, server] of world.servers.entries()) {
    yield* elections(world, place, rules, bounds);
    if (server.leads) {
      for (let peer = 0; peer < world.servers.length; peer += 1) yield* replications(world, place, peer);
      yield* commits(world, place);
      if (world.commands < bounds.commands) yield command(world, place, server);
    }
    yield* losses(world, place, rules, bounds);
    if (rules.mayLift(server, server.commit)) {
      yield {
        step: `server ${place + 1} may vote again`,
        world: withServer(world, place, { ...server, ban: undefined }),
      };
    }
  }
}

/** In one step, since votes that do not make a majority only raise terms, which losing servers, and later elections, do as well. */
function* elections(world: ModelWorld, place: number, rules: BanRules, { terms }: ModelBounds): Generator<Next> {
  const candidate = world.servers[place];
  if (candidate === undefined || !rules.mayVote(candidate)) return;
  for (let term = candidate.term + 1; term <= terms; term += 1) {
    for (const voters of majoritiesWith(place, world.servers.length)) {
      if (!voters.every((voter) => voter === place || votes(world.servers[voter], candidate, term, rules))) continue;
      const servers = world.servers.map((server, at): ModelServer => {
        if (!voters.includes(at)) return server;
        return { ...server, term, voted: true, leads: false };
      });
      const log = [...candidate.log, term];
      const acknowledged = servers.map((_, at) => (at === place ? log.length : 0));
      servers[place] = { ...candidate, term, voted: true, leads: true, log, acknowledged };
      yield {
        step: `server ${place + 1} leads term ${term}, voted for by ${names(voters)}`,
        world: { ...world, servers },
      };
    }
  }
}

function votes(voter: ModelServer | undefined, candidate: ModelServer, term: number, rules: BanRules): boolean {
  if (voter === undefined || !rules.mayVote(voter) || voter.term > term) return false;
  if (voter.term === term && voter.voted) return false;
  const [own, theirs] = [voter.log.at(-1) ?? 0, candidate.log.at(-1) ?? 0];
  return theirs > own || (theirs === own && candidate.log.length >= voter.log.length);
}

/** The follower takes the leader's log up to one entry more than agrees, and hears how much is committed. */
function* replications(world: ModelWorld, from: number, to: number): Generator<Next> {
  const [leader, follower] = [world.servers[from], world.servers[to]];
  if (leader === undefined || follower === undefined || from === to || follower.term > leader.term) return;
  const agree = leader.log.findIndex((term, place) => follower.log[place] !== term);
  const upTo = agree < 0 ? leader.log.length : agree + 1;
  // It keeps what does not conflict.
  const log =
    agree < 0 || follower.log.length > agree ? leader.log.slice(0, upTo) : [...follower.log, leader.log[agree] ?? 0];
  const servers = [...world.servers];
  const sameTerm = follower.term === leader.term;
  servers[to] = {
    ...follower,
    term: leader.term,
    voted: sameTerm && follower.voted,
    leads: false,
    log,
    commit: Math.max(follower.commit, Math.min(leader.commit, upTo)),
  };
  const acknowledged = leader.acknowledged.with(to, Math.max(leader.acknowledged[to] ?? 0, upTo));
  servers[from] = { ...leader, acknowledged };
  yield { step: `server ${to + 1} takes the log of ${from + 1} up to ${upTo}`, world: { ...world, servers } };
}

function command(world: ModelWorld, place: number, leader: ModelServer): Next {
  const log = [...leader.log, leader.term];
  const next = withServer(world, place, { ...leader, log, acknowledged: leader.acknowledged.with(place, log.length) });
  return { step: `server ${place + 1} logs a command`, world: { ...next, commands: world.commands + 1 } };
}

function* commits(world: ModelWorld, place: number): Generator<Next> {
  const leader = world.servers[place];
  if (leader === undefined) return;
  for (let index = leader.commit + 1; index <= leader.log.length; index += 1) {
    const having = leader.acknowledged.filter((upTo) => upTo >= index).length;
    if (having * 2 <= world.servers.length || leader.log[index - 1] !== leader.term) continue;
    const committed = index > world.committed.length ? leader.log.slice(0, index) : world.committed;
    const next = withServer({ ...world, committed }, place, { ...leader, commit: index });
    yield { step: `server ${place + 1} commits up to ${index}`, world: next };
  }
}

function* losses(world: ModelWorld, place: number, rules: BanRules, bounds: ModelBounds): Generator<Next> {
  const server = world.servers[place];
  if (server === undefined || world.losses === bounds.losses) return;
  const ban = rules.banAfterLoss(server);
  for (let kept = 0; kept < server.log.length; kept += 1) {
    const left: ModelServer = {
      ...server,
      term: ban,
      ban,
      log: server.log.slice(0, kept),
      voted: false,
      leads: false,
      commit: 0,
    };
    const next = withServer({ ...world, losses: world.losses + 1 }, place, left);
    yield { step: `server ${place + 1} loses its log behind ${kept}, and is banned since ${ban}`, world: next };
  }
}

function withServer(world: ModelWorld, place: number, server: ModelServer): ModelWorld {
  return { ...world, servers: world.servers.with(place, server) };
}

function majoritiesWith(place: number, servers: number): number[][] {
  const found: number[][] = [];
  for (let bits = 0; bits < 2 ** servers; bits += 1) {
    const members = Array.from({ length: servers }, (_, at) => at).filter((at) => (bits >> at) % 2 === 1);
    if (members.includes(place) && members.length === Math.floor(servers / 2) + 1) found.push(members);
  }
  return found;
}

function names(places: readonly number[]): string {
  return places.map((place) => place + 1).join(' and ');
}
