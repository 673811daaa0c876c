/** Who is there: each member is an ephemeral node, gone when it leaves and when its session has ended. */

import { pathProblem } from '@holdfast/protocol';
import { HoldfastError, InvalidArgumentError, NotFoundError } from '../errors.ts';
import type { Incarnation, Present } from '../incarnations/incarnation.ts';
import { checkOptionNames } from '../option-names.ts';
import type { CallOptions } from '../session/call.ts';
import type { NodeData } from '../tree/node-arguments.ts';
import type { NodeContent } from '../tree/node-content.ts';
import { follow } from './follow.ts';
import { createBelow, hasEnded, ifThere, recipePath, unlessGone } from './recipe-tree.ts';

/**
 * What a member says of itself, and the limits of the call.
 *
 * @example
 * await client.group('workers').join('host-1', { value: 'blue' });
 */
export interface JoinOptions extends CallOptions {
  /** What the others can read of the member. @default '' */
  readonly value?: NodeData;
}

/**
 * What ends a watch of a group.
 *
 * @example
 * for await (const members of client.group('workers').watch({ signal: stop.signal })) console.log(members.length);
 */
export interface GroupWatchOptions {
  /** The iterator throws its reason. */
  readonly signal?: AbortSignal;
}

const JOIN_OPTIONS: Record<keyof JoinOptions, true> = { value: true, timeoutMs: true, signal: true };
const WATCH_OPTIONS: Record<keyof GroupWatchOptions, true> = { signal: true };

/**
 * Who is there: members that end with their session. Made by `client.group`.
 *
 * @example
 * const membership = await client.group('workers').join('host-1');
 * await membership.leave();
 */
export class Group {
  readonly name: string;
  readonly #present: Present;
  readonly #directory: string;

  /** @internal */
  constructor(name: string, present: Present) {
    this.name = name;
    this.#directory = recipePath('groups', name);
    this.#present = present;
  }

  /**
   * Joins under a name that nobody else has in the group; NodeExistsError otherwise. A resilient client joins again by itself, under the
   * same name, when its session has expired.
   */
  async join(member: string, options: JoinOptions = {}): Promise<Membership> {
    checkOptionNames('join', options, JOIN_OPTIONS);
    const { value = '', ...limits } = options;
    const incarnation = this.#present();
    const path = this.#pathOf(member);
    await createBelow(incarnation.nodes, path, value, { ...limits, ephemeral: true });
    return new Membership(member, { path, value, incarnation, present: this.#present });
  }

  /** The names of those who are there, sorted. */
  async members(options: CallOptions = {}): Promise<readonly string[]> {
    return (await ifThere(this.#present().nodes.children(this.#directory, options)))?.names ?? [];
  }

  /** What a member has said of itself; undefined when it is not there. */
  async get(member: string, options: CallOptions = {}): Promise<NodeContent | undefined> {
    return await ifThere(this.#present().nodes.get(this.#pathOf(member), options));
  }

  /** The names of those who are there, at once and whenever that has changed, until the loop is left. */
  async *watch(options: GroupWatchOptions = {}): AsyncGenerator<readonly string[], void, undefined> {
    checkOptionNames('watch', options, WATCH_OPTIONS);
    let last: string | undefined;
    const read = follow(
      this.#present,
      this.#directory,
      async (nodes, how) => (await ifThere(nodes.children(this.#directory, how)))?.names ?? [],
      options.signal,
    );
    for await (const names of read) {
      const key = names.join('/');
      if (key !== last) yield names;
      last = key;
    }
  }

  /** @throws InvalidArgumentError */
  #pathOf(member: string): string {
    const path = `${this.#directory}/${member}`;
    const isName = typeof member === 'string' && member !== '' && !member.includes('/');
    if (isName && pathProblem(path) === undefined) return path;
    throw new InvalidArgumentError(
      `member ${JSON.stringify(member)} of group "${this.name}" must be the name of a node, without "/"`,
    );
  }
}

/**
 * One's own place in a group, until it is left or the session ends.
 *
 * @example
 * const membership = await client.group('workers').join('host-1');
 * await membership.leave();
 */
export class Membership implements AsyncDisposable {
  readonly member: string;
  readonly #path: string;
  readonly #present: Present;
  readonly #ended = new AbortController();
  readonly #leaving = new AbortController();
  #value: NodeData;
  /** In whose session the member is there. */
  #incarnation: Incarnation;
  #left: Promise<void> | undefined;

  /** @internal */
  constructor(
    member: string,
    deps: {
      readonly path: string;
      readonly value: NodeData;
      readonly incarnation: Incarnation;
      readonly present: Present;
    },
  ) {
    this.member = member;
    this.#path = deps.path;
    this.#value = deps.value;
    this.#incarnation = deps.incarnation;
    this.#present = deps.present;
    // Without effect once it has ended otherwise.
    this.#stay().catch((error: unknown) => this.#ended.abort(error));
  }

  /** Aborts when the member is not there any more: it left, its session has ended, or somebody has deleted its node. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Says something else to those who ask. */
  async set(value: NodeData, options: CallOptions = {}): Promise<void> {
    await this.#incarnation.nodes.set(this.#path, value, options);
    this.#value = value;
  }

  /** Rejects when the answer does not come in time; the member goes all the same, at the latest with its session. */
  leave(): Promise<void> {
    this.#left ??= this.#leave();
    return this.#left;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave().catch(() => undefined);
  }

  async #leave(): Promise<void> {
    const left = new HoldfastError(`"${this.member}" has left`, { code: 'NOT_HELD' });
    this.#leaving.abort(left);
    const { nodes, session } = this.#incarnation;
    // Its session has taken it away, or this very call does.
    if (!session.over && !this.#ended.signal.aborted) {
      this.#ended.abort(left);
      await unlessGone(nodes.delete(this.#path));
    }
  }

  /** Until it leaves or is lost: sees that it is there, and joins again in the next session. */
  async #stay(): Promise<void> {
    const { signal } = this.#leaving;
    const nodes = follow(
      this.#present,
      this.#path,
      async (each, how, incarnation) => ({ incarnation, stat: await each.exists(this.#path, how) }),
      signal,
    );
    for await (const { incarnation, stat } of nodes) {
      if (incarnation === this.#incarnation) {
        // Where the session has ended, what is read next is read in the next one.
        if (stat !== undefined || (await hasEnded(incarnation, signal))) continue;
        throw new NotFoundError(`${this.#path} was deleted by somebody else`, { code: 'NOT_FOUND' });
      }
      await createBelow(incarnation.nodes, this.#path, this.#value, {
        ephemeral: true,
        timeoutMs: Number.POSITIVE_INFINITY,
      });
      this.#incarnation = incarnation;
      // It may have left while it joined again.
      if (signal.aborted) await unlessGone(incarnation.nodes.delete(this.#path));
    }
  }
}
