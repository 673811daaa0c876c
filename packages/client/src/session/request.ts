/** One command of a session on its way to its answer. What waits for the answer extends it, so that a call is one object. */

import { CommandType, encodeCommand, type Command, type Reply } from '@holdfast/protocol';
import type { HoldfastError } from '../errors.ts';
import type { Instant } from './lease.ts';

export abstract class Request {
  readonly command: number;
  readonly payload: Uint8Array;
  /** 0 until it is first sent; from then on it must be carried to its answer, since its number is used. */
  number = 0;
  /** When it was first sent: what a lease may count from, however often it was sent again. */
  sentAt: Instant | undefined;
  /** Out of the queue before it was sent. */
  withdrawn = false;

  constructor(command: Command) {
    this.command = CommandType[command.type];
    this.payload = encodeCommand(command);
  }

  /** The final answer; called at most once. */
  abstract answered(reply: Reply): void;
  /** The session ended before an answer came. If the request had been sent, its outcome is unknown, and the error says so. */
  abstract failed(error: HoldfastError): void;
}
