/**
 * What a client says to attach: the payload of the message `attach`. The server that takes it puts the hash of the secret into the
 * log in the secret's place, so that neither the log nor a snapshot lets anybody attach.
 */

import { MAX_LABEL_LENGTH, MAX_SESSION_TIMEOUT_MS, MIN_SESSION_TIMEOUT_MS, SECRET_BYTES } from './limits.ts';
import { MalformedError } from './malformed-error.ts';
import { pack, unpackTuple, type TupleReader } from './pack.ts';

export interface AttachWish {
  /** 0 creates if need be; otherwise the session that must still exist. */
  readonly session: number;
  readonly timeoutMs: number;
  readonly label: string;
}

export interface AttachRequest extends AttachWish {
  readonly secret: Uint8Array;
  /** The session is to give something back: it may be made while disks are almost full. False if missing. */
  readonly givesBack?: boolean;
}

export function encodeAttachRequest({ secret, session, timeoutMs, label, givesBack }: AttachRequest): Uint8Array {
  return pack([secret, session, timeoutMs, label, givesBack ?? false]);
}

/** The secret is a view of the payload. @throws MalformedError when it is not the tuple, or breaks a limit */
export function decodeAttachRequest(payload: Uint8Array): AttachRequest {
  const reader = unpackTuple(payload, 'attach');
  const secret = exactBytes(reader, 'secret', SECRET_BYTES);
  const wish = readWish(reader);
  return { secret, ...wish, givesBack: reader.remaining > 0 && reader.boolean('givesBack') };
}

/** The rest of both tuples, the client's and that of the command. */
export function readWish(reader: TupleReader): AttachWish {
  const session = reader.integer('session');
  const timeoutMs = reader.integer('timeoutMs');
  if (timeoutMs < MIN_SESSION_TIMEOUT_MS || timeoutMs > MAX_SESSION_TIMEOUT_MS) {
    throw new MalformedError(`attach.timeoutMs must be from ${MIN_SESSION_TIMEOUT_MS} to ${MAX_SESSION_TIMEOUT_MS}`);
  }
  return { session, timeoutMs, label: reader.string('label', MAX_LABEL_LENGTH) };
}

export function exactBytes(reader: TupleReader, name: string, length: number): Uint8Array {
  const bytes = reader.bytes(name, length);
  if (bytes.length !== length) throw new MalformedError(`attach.${name} must be ${length} bytes long`);
  return bytes;
}
