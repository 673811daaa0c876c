/** A server that waits to be added says how, and says it anew when its join secret changes. */

import type { Address, Clock, Logger, Timer } from '@holdfast/runtime';
import { joinSecretLastsMs, joinSecretsAt } from './join-secret.ts';

export interface WaitingToJoinDeps {
  readonly serverId: number;
  readonly incarnation: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** It belongs to no ensemble yet. */
  waits(): boolean;
  peerAddress(): Address;
  /** The command by which an operator adds it. */
  announced(command: string): void;
}

export class WaitingToJoin {
  readonly #deps: WaitingToJoinDeps;
  #timer: Timer | undefined;

  constructor(deps: WaitingToJoinDeps) {
    this.#deps = deps;
  }

  /** Those that count now. */
  get secrets(): readonly string[] {
    return joinSecretsAt(this.#deps.incarnation, this.#deps.clock.wallMs());
  }

  /** Undefined when it does not wait. */
  get secret(): string | undefined {
    return this.#deps.waits() ? this.secrets[0] : undefined;
  }

  announce(): void {
    const { secret } = this;
    if (secret === undefined) return;
    const { serverId, clock, logger } = this.#deps;
    const peerAddress = this.#deps.peerAddress();
    const command = `lockctl member add ${serverId} ${peerAddress} --join-secret ${secret}`;
    logger.info({ peerAddress }, `waits to be added: run "${command}" within half an hour`);
    this.#deps.announced(command);
    this.#timer = clock.setTimer(joinSecretLastsMs(clock.wallMs()), () => this.announce());
  }

  stop(): void {
    this.#timer?.cancel();
  }
}
