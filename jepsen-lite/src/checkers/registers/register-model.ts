/** What each call says of its register: what it does to it, and in which states it can have been answered as it was. */

import type { Call, CompletionOf, InvokeOf } from '../../history/calls.ts';
import type { Action, States } from '../../models/model.ts';
import { operationOf, type Step } from '../linearizability/step.ts';

export interface RegisterState {
  /** null: there is none. */
  readonly value: string | null;
  /** Of a node: how often it was set. 0 for keys of the store. */
  readonly version: number;
}

export const REGISTER: States<RegisterState> = {
  initial: { value: null, version: 0 },
  keyOf: ({ value, version }) => `${version} ${JSON.stringify(value)}`,
  describe: ({ value, version }) => (value === null ? 'absent' : `${JSON.stringify(value)} (version ${version})`),
};

type Named = 'create' | 'set' | 'delete' | 'read' | 'put' | 'get';
type Meaning = Omit<Action<RegisterState>, 'same'>;

const ANY_VERSION = -1;

/** Undefined for a call that says nothing: an unanswered read, a weak one, or one that was refused for other reasons than the state. */
export function registerStep({ invoke, completion }: Call<Named>): Step<RegisterState> | undefined {
  const meaning = meaningOf(invoke, completion);
  if (meaning === undefined) return undefined;
  const operation = operationOf({ invoke, completion });
  // Two calls of unknown outcome are hardly ever the same.
  return { operation, action: { ...meaning, same: String(invoke.call) } };
}

function meaningOf(invoke: InvokeOf<Named>, completion: CompletionOf<Named> | undefined): Meaning | undefined {
  if (completion?.type === 'fail') return refusal(invoke, completion.code);
  const answer = completion?.type === 'ok' ? completion : undefined;
  const who = `call ${invoke.call} of ${invoke.process}`;
  switch (invoke.f) {
    case 'create':
      return write(`${who} created it with ${JSON.stringify(invoke.value)}`, (state) =>
        state.value === null ? { value: invoke.value, version: 0 } : undefined,
      );
    case 'set': {
      const reported = answer?.f === 'set' ? answer.newVersion : undefined;
      return write(`${who} set it to ${JSON.stringify(invoke.value)}${versionText(invoke.version)}`, (state) => {
        const version = state.version + 1;
        if (!hasVersion(state, invoke.version) || (reported !== undefined && reported !== version)) return undefined;
        return { value: invoke.value, version };
      });
    }
    case 'delete':
      return write(`${who} deleted it${versionText(invoke.version)}`, (state) =>
        hasVersion(state, invoke.version) ? { value: null, version: 0 } : undefined,
      );
    case 'put':
      return {
        ...write(`${who} put ${JSON.stringify(invoke.value)}`, () => ({ value: invoke.value, version: 0 })),
        // A key of the store has no version, and nothing else is done to it: only who gets it sees what was put.
        leaves: invoke.value,
        sees: [],
      };
    case 'read':
      if (answer?.f !== 'read' || invoke.consistency !== 'linearizable') return undefined;
      return observation(
        `${who} read ${JSON.stringify(answer.value)}${versionText(answer.version)}`,
        ({ value, version }) =>
          value === answer.value && (value === null || answer.version === undefined || version === answer.version),
      );
    case 'get':
      if (answer?.f !== 'get') return undefined;
      return {
        ...observation(`${who} read ${JSON.stringify(answer.value)}`, ({ value }) => value === answer.value),
        sees: answer.value === null ? [] : [answer.value],
      };
  }
}

/** A refusal tells of the state, too. */
function refusal(invoke: InvokeOf<Named>, code: string): Meaning | undefined {
  const text = `call ${invoke.call} of ${invoke.process} (${invoke.f}) was refused with ${code}`;
  switch (code) {
    case 'NODE_EXISTS':
      return observation(text, (state) => state.value !== null);
    case 'NOT_FOUND':
      // Of a create it means the parent.
      return invoke.f === 'create' ? undefined : observation(text, (state) => state.value === null);
    case 'BAD_VERSION': {
      const demanded = invoke.f === 'set' || invoke.f === 'delete' ? invoke.version : undefined;
      return observation(text, (state) => state.value !== null && !hasVersion(state, demanded));
    }
    default:
      return undefined;
  }
}

function write(text: string, step: Meaning['step']): Meaning {
  return { observes: false, text, step };
}

function observation(text: string, fits: (state: RegisterState) => boolean): Meaning {
  return { observes: true, text, step: (state) => (fits(state) ? state : undefined) };
}

function hasVersion(state: RegisterState, demanded: number | undefined): boolean {
  if (state.value === null) return false;
  return demanded === undefined || demanded === ANY_VERSION || demanded === state.version;
}

function versionText(version: number | undefined): string {
  return version === undefined || version === ANY_VERSION ? '' : ` (version ${version})`;
}
