/**
 * Notifies servers that were removed, or whose disk is lost, that the ensemble goes on without them: by a connection to where the
 * configuration has them, since on a connection that they dialled anybody might say so. Seldom, and never to where a stranger wants it.
 */

import { MalformedError } from '@holdfast/protocol';
import type { Address, Clock, Connection, Logger, Network, Random, Timer } from '@holdfast/runtime';
import type { ServerId } from '../core/index.ts';
import type { Expulsion } from './expelled-error.ts';
import { MAX_GREETING_BYTES, NONCE_BYTES, encodeExpulsion, type ExpulsionNotice } from './greeting-codec.ts';
import { DialledGreeting, NO_BYTES, type OwnHello } from './greeting.ts';
import type { OwnSecrets } from './peer-admission.ts';

const DIAL_TIMEOUT_MS = 1_000;
const TIMEOUT_MS = 5_000;
/** To one server; it asks again for as long as it runs. */
const NOTICE_INTERVAL_MS = 1_000;
/** To all servers, at a time. */
const MAX_NOTICES = 8;

export interface Expelled {
  readonly id: ServerId;
  readonly address: Address;
  /** As the ensemble knew it; empty when it never did. */
  readonly incarnation: string;
  readonly expulsion: Expulsion;
  /** The nonce of the hello that was refused, if one was. */
  readonly echo?: Uint8Array;
}

export interface ExpulsionNoticesParts {
  readonly incarnation: string;
  secrets(): OwnSecrets;
  hello(to: ServerId): OwnHello;
  voterSets(): ExpulsionNotice['voterSets'];
}

export interface ExpulsionNoticesWorld {
  readonly clock: Clock;
  readonly network: Network;
  readonly random: Random;
  readonly logger: Logger;
}

export class ExpulsionNotices {
  readonly #parts: ExpulsionNoticesParts;
  readonly #world: ExpulsionNoticesWorld;
  readonly #notifiedAtMs = new Map<ServerId, number>();
  readonly #underWay = new Set<Connection | undefined>();
  #dialling = 0;
  #stopped = false;

  constructor(parts: ExpulsionNoticesParts, world: ExpulsionNoticesWorld) {
    this.#parts = parts;
    this.#world = world;
  }

  notify(expelled: Expelled): void {
    const now = this.#world.clock.monotonicMs();
    const due = (this.#notifiedAtMs.get(expelled.id) ?? -Infinity) + NOTICE_INTERVAL_MS;
    if (this.#stopped || now < due || this.#dialling + this.#underWay.size >= MAX_NOTICES) return;
    this.#notifiedAtMs.set(expelled.id, now);
    this.#dialling += 1;
    const { address } = expelled;
    this.#world.network.dial({ address, timeoutMs: DIAL_TIMEOUT_MS, maxFrameBytes: MAX_GREETING_BYTES }).then(
      (connection) => {
        this.#dialling -= 1;
        if (this.#stopped) connection.destroy();
        else this.#greet(connection, expelled);
      },
      () => (this.#dialling -= 1),
    );
  }

  stop(): void {
    this.#stopped = true;
    for (const connection of this.#underWay) connection?.destroy();
  }

  #greet(connection: Connection, { id, incarnation, expulsion, echo = NO_BYTES }: Expelled): void {
    const { clock, random, logger } = this.#world;
    const greeting = new DialledGreeting({
      hello: { ...this.#parts.hello(id), purpose: 'expulsion', echo },
      nonce: random.bytes(NONCE_BYTES),
      // Never notified.
      incarnation: '',
      secrets: this.#parts.secrets(),
      peer: { secret: incarnation, member: false },
    });
    const timer: Timer = clock.setTimer(TIMEOUT_MS, () => connection.destroy());
    this.#underWay.add(connection);
    const received = (frame: Uint8Array): void => {
      if (greeting.challenged) {
        connection.send(encodeExpulsion({ expulsion, voterSets: this.#parts.voterSets() }));
        connection.close();
        logger.warn({ peer: id, expulsion }, 'notified a server that the ensemble goes on without it');
        return;
      }
      greeting.challengedBy(frame);
      // It is there with its own directory: the refused hello was a stranger's.
      if (expulsion === 'WRONG_INCARNATION' && greeting.proves(incarnation)) connection.close();
      else connection.send(greeting.proof);
    };
    connection.setHandler({
      frame: (frame) => {
        try {
          received(frame);
        } catch (error) {
          if (!(error instanceof MalformedError)) throw error;
          connection.destroy();
        }
      },
      close: () => {
        timer.cancel();
        this.#underWay.delete(connection);
      },
    });
    connection.send(greeting.hello);
  }
}
