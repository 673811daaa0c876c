/** What a store of its own and a replica of a group say of themselves, each in its way. */

import { EngineError } from '../engines/engine-error.ts';
import type { StoreFigures } from '../store-types.ts';
import { NotPrimaryError } from './store-source.ts';
import type { GroupFacts, StoreSource } from './store-source.ts';

/** A replica answers while its process works, whoever serves. */
export function healthOf(source: StoreSource): Partial<GroupFacts> & { readonly serving?: boolean } {
  const { group } = source;
  if (group !== undefined) return { ...group, serving: group.role === 'primary' };
  source.present().store.assertServing();
  return {};
}

/** Undefined: of a replica that does not serve. */
export function figuresOf(source: StoreSource): StoreFigures | undefined {
  return source.group === undefined || source.group.role === 'primary' ? source.present().store.figures : undefined;
}

/** An engine whose epoch has ended is closed; what it says to that, the group says better. */
export function groupError(error: Error, { group }: StoreSource): Error {
  if (group === undefined || !(error instanceof EngineError) || error.code !== 'CLOSED') return error;
  return new NotPrimaryError(group, { indeterminate: error.indeterminate });
}
