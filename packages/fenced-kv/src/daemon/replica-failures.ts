/** What goes wrong with a replica: whether it is tried again, and how the program ends where it is not. */

import { ListenError } from '@holdfast/runtime';

import { describeError, EngineError } from '../engines/engine-error.ts';
import { RefusedError } from '../refusal.ts';
import { ConfigurationError } from '../replication/node/group-nodes.ts';
import { ReplicaIdTakenError } from '../replication/node/replica-registry.ts';
import { EXIT_CODE, ExitError } from './exit-code.ts';
import { exitErrorOf } from './on-bucket.ts';
import type { ReplicaSettings } from './replica-settings.ts';

/** It would fail again: an operator must act. */
export function isFinal(error: unknown): boolean {
  return [ReplicaIdTakenError, ConfigurationError, EngineError, RefusedError, ExitError].some(
    (kind) => error instanceof kind,
  );
}

export function failureOf(error: unknown, { peerListen }: Pick<ReplicaSettings, 'peerListen'>): Error {
  if (error instanceof ListenError) {
    const code = error.code === 'ADDRESS_IN_USE' ? EXIT_CODE.portInUse : EXIT_CODE.usage;
    return new ExitError(code, `--peer-listen ${peerListen}: ${error.message}`, { cause: error });
  }
  if (error instanceof ReplicaIdTakenError || error instanceof ConfigurationError) {
    return new ExitError(EXIT_CODE.usage, error.message, { cause: error });
  }
  const said = exitErrorOf(error);
  return said instanceof Error ? said : new Error(describeError(said));
}
