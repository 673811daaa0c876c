/**
 * What a client says to attach: the payload of the message `attach`. The server that takes it puts the hash of the secret into the
 * log in the secret's place, so that neither the log nor a snapshot lets anybody attach.
 */

import { MAX_LABEL_LENGTH, MAX_SESSION_TIMEOUT_MS, MIN_SESSION_TIMEOUT_MS, SECRET_BYTES } from '../limits.ts';
import { pack, unpackTuple } from '../pack.ts';
import { exactBytes, flag, integer, integerWithin, optional, record, text, type ValueOf } from '../schema/field.ts';

/** Both tuples have it, the client's and that of the command. */
export const attachWish = {
  /** 0 creates if need be; otherwise the session that must still exist. */
  session: integer(),
  timeoutMs: integerWithin(MIN_SESSION_TIMEOUT_MS, MAX_SESSION_TIMEOUT_MS),
  label: text(MAX_LABEL_LENGTH),
} as const;

export const attachRequest = record({
  secret: exactBytes(SECRET_BYTES),
  ...attachWish,
  /** The session is to give something back: it may be made while disks are almost full. */
  givesBack: optional(flag(), false),
});

export interface AttachRequest extends ValueOf<typeof attachRequest> {}

export function encodeAttachRequest(request: AttachRequest): Uint8Array {
  return pack(attachRequest.writeTuple(request));
}

/** The secret is a view of the payload. @throws MalformedError when it is not the tuple, or breaks a limit */
export function decodeAttachRequest(payload: Uint8Array): AttachRequest {
  return attachRequest.readTuple(unpackTuple(payload, 'attach'));
}
