/**
 * An operator at a machine without faults, who changes the members as lockctl does: a connection for each command, which is asked again
 * as long as nothing but time is in its way. Nothing of this knows what the servers really did.
 */

import { connect, HoldfastError, type Client, type Members } from '@holdfast/client';
import type { Runtime } from '@holdfast/runtime';

/** `made`: the answer says that it has come to be. */
interface Ended {
  readonly made: boolean;
  /** An attempt was not answered, and the last one was refused: a server may have kept the first, and may carry it out yet. */
  readonly uncertain: boolean;
}

export interface OperatorWorld {
  /** Where servers may be found now. */
  servers(): readonly string[];
  /** Time alone changes nothing any more: what hinders a command now is its end. */
  readonly impatient: boolean;
}

/** As lockctl has it. */
const TIMEOUT_MS = 10_000;
const SESSION_TIMEOUT_MS = 10_000;
const PAUSE_MS = 400;
/** Nothing of the command is in any log; it may be done later. */
const HINDERED: ReadonlySet<string> = new Set(['MEMBERSHIP_REFUSED', 'UNSUPPORTED']);
/** Nor will it ever be. */
const FINAL: ReadonlySet<string> = new Set(['NOT_FOUND', 'INVALID_ARGUMENT', 'LIMIT_EXCEEDED', 'MEMBER_EXISTS']);

export class Operator {
  readonly #runtime: Runtime;
  readonly #world: OperatorWorld;

  constructor(runtime: Runtime, world: OperatorWorld) {
    this.#runtime = runtime;
    this.#world = world;
  }

  /** `mayAsk` is asked before each attempt; the operator thinks better of it when it says no. */
  async carryOut(command: (client: Client) => Promise<Members>, mayAsk: () => boolean): Promise<Ended> {
    for (let uncertain = false; ;) {
      if (!mayAsk()) return { made: false, uncertain };
      const code = await this.ask(command);
      if (code === undefined) return { made: true, uncertain: false };
      if (FINAL.has(code) || (HINDERED.has(code) && this.#world.impatient)) return { made: false, uncertain };
      uncertain ||= !HINDERED.has(code);
      await this.pause();
    }
  }

  async pause(forMs = PAUSE_MS): Promise<void> {
    await new Promise<void>((resolve) => void this.#runtime.clock.setTimer(forMs, resolve));
  }

  /** Undefined when it has come to be; else the code of the error. */
  async ask(command: (client: Client) => Promise<unknown>): Promise<string | undefined> {
    let client: Client | undefined;
    try {
      client = await connect(
        {
          servers: this.#world.servers(),
          sessionTimeoutMs: SESSION_TIMEOUT_MS,
          connectTimeoutMs: TIMEOUT_MS,
          label: 'operator',
        },
        this.#runtime,
      );
      await command(client);
      return undefined;
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      return error.code;
    } finally {
      await client?.close();
    }
  }
}

export const COMMAND_TIMEOUT_MS = TIMEOUT_MS;
