/**
 * A stranger on the machine of a server that does not run, at its peer address: notifies whoever dials that it was removed, and dials it in
 * turn with that news, in the name of the server whose port it has, with what it has just heard from it.
 */

import { MalformedError } from '@holdfast/protocol';
import { NONCE_BYTES, decodeHello, encodeChallenge, type PeerHello } from '@holdfast/raft';
import type { Connection, Runtime } from '@holdfast/runtime';
import type { Ports } from './ports.ts';

const MAX_FRAME_BYTES = 16 * 1024 * 1024;
const PROOF_BYTES = 32;
const GOODBYES = [
  'MEMBER_REMOVED: bye',
  'NOT_ADMITTED: not known here',
  'WRONG_INCARNATION: another data directory',
] as const;

export interface UsurperEvents {
  /** Whoever said that hello was notified that it is no member. */
  misled(hello: PeerHello): void;
}

/** Whether the port could be taken; somebody may have it. */
export async function usurp(runtime: Runtime, ports: Ports, server: number, events: UsurperEvents): Promise<boolean> {
  const { network, random } = runtime;
  const sayGoodbye = (connection: Connection, hello: PeerHello): void => {
    connection.close(GOODBYES[random.integer(GOODBYES.length)]);
    // An answer to news would be answered in turn.
    if (hello.purpose !== 'expulsion') events.misled(hello);
  };
  const greet = (connection: Connection): void => {
    let hello: PeerHello | undefined;
    connection.setHandler({
      frame: (frame) => {
        if (hello !== undefined) {
          sayGoodbye(connection, hello);
          return;
        }
        try {
          hello = decodeHello(frame);
        } catch (error) {
          if (!(error instanceof MalformedError)) throw error;
          connection.destroy();
          return;
        }
        if (random.integer(2) === 0) sayGoodbye(connection, hello);
        else
          connection.send(
            encodeChallenge({
              nonce: random.bytes(NONCE_BYTES),
              ownProofs: [random.bytes(PROOF_BYTES)],
              yourProof: random.bytes(PROOF_BYTES),
              wantsIncarnation: random.integer(2) === 0,
            }),
          );
      },
      close: () => {},
    });
  };
  const address = ports.peerAddress(server);
  return await network.listen({ address, maxFrameBytes: MAX_FRAME_BYTES, onConnection: greet }).then(
    () => true,
    () => false,
  );
}
