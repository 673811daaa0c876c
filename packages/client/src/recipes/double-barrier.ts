/**
 * So many go in together, and go out together. Who is inside is an ephemeral node, so that one that dies counts no more. The directory says
 * whether its members enter or are inside: each entry names the version of that, so that nobody slips into a round that has begun, and the
 * last one checks in the same transaction that the others live.
 */

import {
  BadVersionError,
  InvalidArgumentError,
  NotFoundError,
  SessionExpiredError,
  TransactionFailedError,
} from '../errors.ts';
import type { Incarnation, Present } from '../incarnations/incarnation.ts';
import { check, create, set } from '../tree/transaction.ts';
import { checkWhole } from './counter.ts';
import { follow, type Read } from './follow.ts';
import { createDirectory, hasEnded, ifThere, recipePath, unlessGone } from './recipe-tree.ts';
import { checkWaitOptions, orUndone, withinLimits, type WaitOptions } from './waiting.ts';

/** One round takes as many checks in one transaction. */
const MAX_PARTIES = 1_000;
const MAX_ROUND = 2 ** 31;
const decoder = new TextDecoder();

interface Round {
  /** Of the directory's data. */
  readonly version: number;
  /** The number that the round has while its members are inside; undefined while they enter. */
  readonly inside: number | undefined;
  /** 0 where nobody has entered yet. */
  readonly parties: number;
  readonly members: readonly string[];
  readonly incarnation: Incarnation;
}

interface Entered {
  readonly path: string;
  readonly incarnation: Incarnation;
}

/**
 * One's own place inside a double barrier.
 *
 * @example
 * const entry = await client.doubleBarrier('round', { parties: 3 }).enter();
 * await entry.leave(); // when all three are done
 */
export class BarrierEntry {
  readonly #leave: (options: WaitOptions) => Promise<void>;

  /** @internal */
  constructor(leave: (options: WaitOptions) => Promise<void>) {
    this.#leave = leave;
  }

  /** Goes out, and waits until all the others have gone out or died. */
  leave(options: WaitOptions = {}): Promise<void> {
    checkWaitOptions('leave', options);
    return this.#leave(options);
  }
}

/**
 * A barrier at which so many parties go in together, and go out together. Made by `client.doubleBarrier`.
 *
 * @example
 * const entry = await client.doubleBarrier('round', { parties: 3 }).enter(); // when three are there
 * await entry.leave();
 */
export class DoubleBarrier {
  readonly name: string;
  readonly parties: number;
  readonly #present: Present;
  readonly #directory: string;

  /** @internal */
  constructor(name: string, parties: number, present: Present) {
    checkWhole('parties', parties, 1);
    if (parties > MAX_PARTIES)
      throw new InvalidArgumentError(`parties is ${parties}; a double barrier takes at most ${MAX_PARTIES}`);
    this.name = name;
    this.parties = parties;
    this.#directory = recipePath('double-barriers', name);
    this.#present = present;
  }

  /**
   * Waits until as many have come as there are parties. Who comes while a round is inside waits for the next. Rejects with
   * SessionExpiredError when the session that has come in has ended, since the others do not count it any more.
   */
  async enter(options: WaitOptions = {}): Promise<BarrierEntry> {
    checkWaitOptions('enter', options);
    return await withinLimits(this.#present().session.clock, this.#what, options, (signal, seen) =>
      this.#enter(signal, seen),
    );
  }

  get #what(): string {
    return `double barrier "${this.name}" of ${this.parties}`;
  }

  async #enter(signal: AbortSignal, seen: (state: string) => void): Promise<BarrierEntry> {
    let own: Entered | undefined;
    try {
      for await (const round of follow(this.#present, this.#directory, this.#read, signal)) {
        seen(stateOf(round, own !== undefined));
        if (own !== undefined) await this.#checkThere(own, round, signal);
        else own = await this.#comeIn(round, signal);
        if (own !== undefined && round?.inside !== undefined && isMember(own, round))
          return this.#entry(own, round.inside);
      }
      throw new SessionExpiredError(`${this.#what}: the session has ended`);
    } catch (error) {
      if (own !== undefined) this.#goOut(own).catch(() => undefined);
      throw error;
    }
  }

  /** Undefined while the door is shut, or when somebody else was quicker: the next read tells. */
  async #comeIn(round: Round | undefined, signal: AbortSignal): Promise<Entered | undefined> {
    if (round === undefined) {
      const { nodes } = this.#present();
      await createDirectory(nodes, this.#directory, { timeoutMs: Number.POSITIVE_INFINITY, signal });
      return undefined;
    }
    const { incarnation, members, version } = round;
    if (members.length > 0 && round.parties !== this.parties)
      throw new InvalidArgumentError(`${this.#what}: others have entered it as one of ${round.parties}`);
    if (members.length >= this.parties || (round.inside !== undefined && members.length > 0)) return undefined;
    const isLast = members.length + 1 === this.parties;
    const inside = isLast ? ` ${1 + incarnation.random.integer(MAX_ROUND)}` : '';
    const alive = isLast ? members.map((member) => check(`${this.#directory}/${member}`)) : [];
    const entering = incarnation.nodes.transaction(
      [
        set(this.#directory, `${this.parties}${inside}`, { version }),
        ...alive,
        create(`${this.#directory}/member-`, '', { ephemeral: true, sequential: true }),
      ],
      { timeoutMs: Number.POSITIVE_INFINITY },
    );
    const entered = entering.then(({ results }) => ({ path: results.at(-1)?.path ?? '', incarnation }));
    try {
      return await orUndone(signal, entered, (late) => this.#goOut(late));
    } catch (error) {
      if (error instanceof TransactionFailedError && isRace(error)) return undefined;
      throw error;
    }
  }

  async #checkThere(own: Entered, round: Round | undefined, signal: AbortSignal): Promise<void> {
    if (round !== undefined && isMember(own, round)) return;
    if (await hasEnded(own.incarnation, signal))
      throw new SessionExpiredError(`${this.#what}: the session that has entered has ended`);
    throw new NotFoundError(`${this.#what}: ${own.path} was deleted by somebody else`, { code: 'NOT_FOUND' });
  }

  #entry(own: Entered, inside: number): BarrierEntry {
    return new BarrierEntry((options) =>
      withinLimits(this.#present().session.clock, this.#what, options, (signal, seen) =>
        this.#leave(own, inside, { signal, seen }),
      ),
    );
  }

  async #leave(
    own: Entered,
    inside: number,
    { signal, seen }: { readonly signal: AbortSignal; readonly seen: (state: string) => void },
  ): Promise<void> {
    await orUndone(signal, this.#goOut(own), () => Promise.resolve());
    for await (const round of follow(this.#present, this.#directory, this.#read, signal)) {
      if (round === undefined || round.inside !== inside) return;
      seen(`${round.members.length} are still inside`);
      if (round.members.length > 0) continue;
      try {
        await round.incarnation.nodes.set(this.#directory, String(round.parties), { version: round.version, signal });
      } catch (error) {
        // Somebody else has opened the door to the next round.
        if (!(error instanceof BadVersionError) && !(error instanceof NotFoundError)) throw error;
      }
      return;
    }
  }

  /** Without a session it is out already. */
  async #goOut({ path, incarnation }: Entered): Promise<void> {
    const gone = unlessGone(incarnation.nodes.delete(path, { timeoutMs: Number.POSITIVE_INFINITY }));
    await gone.catch((error: unknown) => {
      if (!incarnation.session.over) throw error;
    });
  }

  readonly #read: Read<Round | undefined> = async (nodes, options, incarnation) => {
    const [node, listed] = await Promise.all([
      ifThere(nodes.get(this.#directory, options)),
      ifThere(nodes.children(this.#directory, options)),
    ]);
    if (node === undefined || listed === undefined) return undefined;
    const [parties = '', inside] = decoder.decode(node.data).split(' ');
    return {
      version: node.stat.version,
      inside: inside === undefined ? undefined : Number(inside),
      parties: Number(parties),
      members: listed.names,
      incarnation,
    };
  };
}

function isMember(own: Entered, round: Round): boolean {
  return round.members.includes(own.path.slice(own.path.lastIndexOf('/') + 1));
}

/** Why whoever wants to enter waits. */
function stateOf(round: Round | undefined, entered: boolean): string {
  if (round === undefined || round.parties === 0) return 'nobody has come';
  if (round.inside !== undefined && !entered) return `another round is inside, ${round.members.length} of it`;
  return `${round.members.length} of ${round.parties} have come`;
}

/** Somebody has entered, left or died since the round was read. */
function isRace({ code }: TransactionFailedError): boolean {
  return code === 'BAD_VERSION' || code === 'NOT_FOUND';
}
