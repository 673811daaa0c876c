/**
 * The side of a greeting that dialled: says hello, looks at what the other side proves, proves itself in turn, and waits for its welcome.
 * It reveals its incarnation, which is a secret, only to a side that has proved that it belongs to the ensemble; or that is a member of
 * which the configuration knows no directory yet, as when an ensemble begins.
 */

import {
  NONCE_BYTES,
  decodeChallenge,
  encodeHello,
  encodeProof,
  type PeerChallenge,
  type PeerHello,
} from './greeting-codec.ts';
import type { OwnSecrets } from './peer-admission.ts';
import { proofOf, proves, type Greeting } from './peer-proof.ts';

/** What this server knows of whom it dials. */
interface DialledPeer {
  /** Its secret as the configuration has it; empty when it has none. */
  readonly secret: string;
  /** A member, so that without a known secret it is believed as it is. */
  readonly member: boolean;
}

/** What this server says of itself; without what is fresh for each greeting. */
export type OwnHello = Omit<PeerHello, 'nonce' | 'echo'> & Partial<Pick<PeerHello, 'echo'>>;

export interface GreetingTerms {
  readonly hello: OwnHello;
  readonly nonce: Uint8Array;
  readonly incarnation: string;
  readonly secrets: OwnSecrets;
  readonly peer: DialledPeer;
}

export const NO_BYTES = new Uint8Array(0);

/** The other side does not prove to be whom it was taken for. */
export const IMPOSTOR =
  'it does not prove to be that server: another process, or another data directory, is at its address';

export class DialledGreeting {
  readonly #terms: GreetingTerms;
  readonly #hello: Uint8Array;
  #challenge: { readonly greeting: Greeting; readonly said: PeerChallenge } | undefined;

  constructor(terms: GreetingTerms) {
    if (terms.nonce.length !== NONCE_BYTES) throw new TypeError(`a nonce of ${terms.nonce.length} bytes`);
    this.#terms = terms;
    this.#hello = encodeHello({ echo: NO_BYTES, ...terms.hello, nonce: terms.nonce });
  }

  get hello(): Uint8Array {
    return this.#hello;
  }

  get nonce(): Uint8Array {
    return this.#terms.nonce;
  }

  /** Whether the other side has been challenged for it already, so that what comes next is the welcome. */
  get challenged(): boolean {
    return this.#challenge !== undefined;
  }

  /** @throws MalformedError */
  challengedBy(frame: Uint8Array): void {
    const said = decodeChallenge(frame);
    this.#challenge = { greeting: { hello: this.#hello, nonce: said.nonce }, said };
  }

  /** Whether the other side has proved that it knows that secret of its own. */
  proves(secret: string): boolean {
    if (this.#challenge === undefined) return false;
    const { said, greeting } = this.#challenge;
    return proves(said.ownProofs, secret, 'listener', greeting);
  }

  /** Whether the other side may be spoken to. */
  get satisfied(): boolean {
    if (this.#challenge === undefined) return false;
    const { peer, secrets } = this.#terms;
    if (peer.secret !== '') return this.proves(peer.secret);
    const { said, greeting } = this.#challenge;
    return peer.member || secrets.knownBy.some((secret) => proves([said.yourProof], secret, 'listener', greeting));
  }

  /** What is said to the challenge. */
  get proof(): Uint8Array {
    if (this.#challenge === undefined) throw new TypeError('nothing was challenged');
    const { peer, secrets, incarnation } = this.#terms;
    const { said, greeting } = this.#challenge;
    const revealed = said.wantsIncarnation && this.satisfied ? incarnation : '';
    return encodeProof({
      incarnation: revealed,
      ownProofs: secrets.provenBy.map((secret) => proofOf(secret, 'dialer', greeting, revealed)),
      yourProof: peer.secret === '' ? NO_BYTES : proofOf(peer.secret, 'dialer', greeting, revealed),
    });
  }
}
