/** Holds one hostile conversation over a connection, and tells what was not as the protocol promises. */

import { decodeServerFrame, encodeClientFrame, type ServerMessage } from '@holdfast/protocol';
import type { Network } from '@holdfast/runtime';
import type { Conversation } from './conversation.ts';

const LAST_PING = 4_711_471_147;

export interface ConverseOptions {
  readonly address: string;
  /** How an open conversation is left: with a close, or as if the process had died. */
  readonly leave: 'close' | 'destroy';
}

/** Resolves with the problem, or undefined when all was well, once the connection is closed. */
export async function converse(
  network: Network,
  conversation: Conversation,
  { address, leave }: ConverseOptions,
): Promise<string | undefined> {
  const connection = await network.dial({ address, timeoutMs: 10_000, maxFrameBytes: 64 * 1024 * 1024 });
  const heard: ServerMessage[] = [];
  const remaining = [...conversation.steps];
  const advance = (): void => {
    for (let step = remaining.shift(); step !== undefined; step = remaining.shift()) {
      if (step === 'until attached') {
        if (heard.some(({ type }) => type === 'attached')) continue;
        remaining.unshift(step);
        return;
      }
      connection.send(new Uint8Array(step));
    }
    if (conversation.ending.type === 'open') connection.send(encodeClientFrame([{ type: 'ping', id: LAST_PING }]));
  };
  let frames = 0;
  let answered = false;
  const reason = await new Promise<string>((resolve) => {
    connection.setHandler({
      frame(bytes) {
        frames += 1;
        if (conversation.ending.type === 'closed') return;
        heard.push(...decodeServerFrame(bytes));
        if (remaining.length > 0) advance();
        if (!heard.some((message) => message.type === 'pong' && message.id === LAST_PING)) return;
        answered = true;
        connection[leave]();
      },
      close: resolve,
    });
    advance();
  });
  const problem = problemOf(conversation, { frames, heard, answered, reason });
  return problem === undefined ? undefined : `${conversation.kind}: ${problem} (closed: ${reason})`;
}

interface Outcome {
  readonly frames: number;
  readonly heard: readonly ServerMessage[];
  readonly answered: boolean;
  readonly reason: string;
}

function problemOf({ ending }: Conversation, { frames, heard, answered, reason }: Outcome): string | undefined {
  const goodbye = heard.find((message) => message.type === 'goodbye');
  switch (ending.type) {
    case 'goodbye':
      return goodbye?.code === ending.code ? undefined : `goodbye ${goodbye?.code} instead of ${ending.code}`;
    case 'closed':
      if (frames > (ending.frames ?? 0)) return `${frames} frames came where ${ending.frames ?? 0} may`;
      return ending.reason === undefined || reason.includes(ending.reason)
        ? undefined
        : `the reason is not ${ending.reason}`;
    case 'open':
      return answered ? undefined : `no answer to the last ping, goodbye ${goodbye?.code}: ${goodbye?.message}`;
  }
}
