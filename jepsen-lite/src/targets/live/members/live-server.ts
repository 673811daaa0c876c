/**
 * A server of a live run as its service manager has it: started when it is its turn, never again once the ensemble goes on without it. One
 * that was removed is started once more and must end again; one that has lost its disk must be refused.
 */

import { readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import type { ProcessExit } from '@holdfast/ensemble';
import { ExitCode } from '@holdfast/lockd';
import type { ChangingServer } from '../../members/members-world.ts';
import type { Machine, MachineOptions } from '../processes/machine.ts';

/** What a server prints while it waits to be added. */
const JOIN_SECRET = /--join-secret ([0-9a-f]{32})/g;

export interface LiveServerOptions {
  readonly id: number;
  /** It waits to be added to a cluster that runs. */
  readonly joins: boolean;
  readonly logFile: string;
  readonly dataDirectory: string;
  readonly machine: (rules: Required<Pick<MachineOptions, 'mayStart' | 'leaves'>>) => Machine;
  readonly refused: () => void;
  /** Somebody else has its port. */
  readonly portTaken: () => boolean;
  /** Clients should know of it, or need not any more. */
  readonly changed: () => void;
  readonly failed: (error: unknown) => void;
}

export class LiveServer implements ChangingServer {
  readonly id: number;
  readonly machine: Machine;
  readonly #options: LiveServerOptions;
  #begun: boolean;
  #expelled = false;
  #diskLost = false;
  #removing = false;
  #removals = 0;

  constructor(options: LiveServerOptions) {
    this.#options = options;
    this.id = options.id;
    this.#begun = !options.joins;
    this.machine = options.machine({
      mayStart: () => this.#begun && !this.#expelled && !options.portTaken(),
      leaves: (exit) => this.#leaves(exit),
    });
  }

  get begun(): boolean {
    return this.#begun;
  }

  get serves(): boolean {
    return this.machine.up;
  }

  get expelled(): boolean {
    return this.#expelled;
  }

  get diskLost(): boolean {
    return this.#diskLost;
  }

  get damaged(): boolean {
    return this.machine.lacksLog;
  }

  /** An operator has asked for its removal, or its disk was taken away: it says at level fatal why it ends. */
  get leaves(): boolean {
    return this.#removing || this.#diskLost;
  }

  get joinSecret(): string | undefined {
    if (!this.mayWait || !this.machine.up) return undefined;
    // Of the process that was started last.
    return [...readFileSync(this.#options.logFile, 'utf8').matchAll(JOIN_SECRET)].at(-1)?.[1];
  }

  get mayWait(): boolean {
    return this.#options.joins && !this.#expelled;
  }

  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#start();
    this.#options.changed();
  }

  removing(): void {
    this.#removing = true;
  }

  async loseDisk(): Promise<void> {
    const { dataDirectory } = this.#options;
    this.#diskLost = true;
    await this.machine.withoutPower(async () => {
      await this.machine.kill();
      // Its disk may hang until this process thaws it.
      await rename(dataDirectory, `${dataDirectory}-lost`);
    });
    this.#start();
  }

  #start(): void {
    this.machine.start().catch(this.#options.failed);
  }

  #leaves({ code }: ProcessExit): 'again' | 'for-good' | undefined {
    const removed = code === ExitCode.removed && this.#removing;
    const refused = code === ExitCode.lostDisk && this.#diskLost;
    if (!removed && !refused) return undefined;
    if (removed) this.#removals += 1;
    this.#expelled = this.#diskLost || this.#removals > 1;
    if (this.#diskLost) this.#options.refused();
    this.#options.changed();
    return this.#expelled ? 'for-good' : 'again';
  }
}
