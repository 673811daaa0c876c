/**
 * The operations of a transaction, one after the other as they are read: a list of thousands would live until the last of them is planned,
 * and the collector would copy it meanwhile. What is malformed is refused in the words of decodeCommand.
 */

import { MalformedError } from '../malformed-error.ts';
import { unpackTuple, type TupleReader } from '../pack.ts';
import { readOperation, type Operation, type UnknownOperation } from './operation.ts';

export class TransactionReader {
  readonly #fields: TupleReader;
  readonly #list: TupleReader;
  #operation: TupleReader | undefined;

  /** @throws MalformedError unless the bytes from `start` on are one whole tuple with a list */
  constructor(bytes: Uint8Array, start = 0) {
    this.#fields = unpackTuple(bytes, 'transaction', start);
    this.#list = this.#fields.tuple('operations');
  }

  /** Operations that have not been read. */
  get remaining(): number {
    return this.#list.remaining;
  }

  /** @throws MalformedError */
  next(): Operation | UnknownOperation {
    this.#operation = this.#list.element(this.#operation);
    return readOperation(this.#operation);
  }

  /** Nothing more of it is wanted. @throws MalformedError unless what has not been read is well-formed, too */
  end(): void {
    while (this.remaining > 0) this.next();
    const { remaining } = this.#fields;
    if (remaining > 0) throw new MalformedError(`transaction has ${remaining} fields too many`);
  }
}
