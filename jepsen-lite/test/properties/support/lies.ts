/** Shapes of lies. */

import type { ErrorCode, Reply } from '@holdfast/protocol';
import type { Output } from '@holdfast/state';

import type { Lie } from './lying-machine.ts';

/** Called once a machine. */
export type MakeLie = () => Lie;

type ReportedReply = Extract<Output, { type: 'reply' }> & { readonly index: number };

/** Tells other replies to requests. */
export function repliesChanged(change: (reply: Reply, reported: ReportedReply) => Reply): NonNullable<Lie['outputs']> {
  return (outputs, index) =>
    outputs.map((output) =>
      output.type === 'reply' ? { ...output, reply: change(output.reply, { ...output, index }) } : output,
    );
}

export function errorReplyOf(code: ErrorCode): Reply {
  return { type: 'error', code, message: 'a lie' };
}
