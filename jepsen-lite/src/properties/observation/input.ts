/** An entry as the promises see it. */

import type { Command, CommandName } from '@holdfast/protocol';

/** What was fed to the machine. `command` is undefined for a payload that is not what its command's must be, or whose command nobody knows. */
export type Input =
  | { readonly type: 'noop' }
  /** An entry of a format, group or command that this version does not know: the machine must throw. */
  | { readonly type: 'unsupported'; readonly what: string }
  | {
      readonly type: 'attach';
      readonly server: number;
      readonly correlation: number;
      readonly command: Extract<Command, { type: 'attach' }> | undefined;
    }
  | {
      readonly type: 'request';
      /** The server through which it came. */
      readonly via: number;
      readonly session: number;
      readonly generation: number;
      readonly number: number;
      readonly ackedUpTo: number;
      /** Undefined for a command that no version has. */
      readonly name: CommandName | undefined;
      readonly command: Command | undefined;
    }
  | { readonly type: 'expire'; readonly command: Extract<Command, { type: 'expireSession' }> | undefined }
  | { readonly type: 'continue'; readonly command: Extract<Command, { type: 'continueEnd' }> | undefined }
  | { readonly type: 'unused'; readonly command: Extract<Command, { type: 'removeUnused' }> | undefined }
  | { readonly type: 'endDelay'; readonly command: Extract<Command, { type: 'endLockDelay' }> | undefined }
  | { readonly type: 'enforce'; readonly command: Extract<Command, { type: 'enforceRelease' }> | undefined }
  | { readonly type: 'raise'; readonly command: Extract<Command, { type: 'raiseStateVersion' }> | undefined };

export type RequestInput = Extract<Input, { type: 'request' }>;
