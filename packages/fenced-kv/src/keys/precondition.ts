/** Conditions on a key's present revision, as `If-Match`, `If-None-Match` and a batch's `ifRevision` state them. */

export type Precondition =
  | { readonly kind: 'exists' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'revision-in'; readonly revisions: readonly number[] }
  | { readonly kind: 'revision-not-in'; readonly revisions: readonly number[] };

/** `revision` is undefined where the key is absent. */
export function holds(condition: Precondition, revision: number | undefined): boolean {
  switch (condition.kind) {
    case 'exists':
      return revision !== undefined;
    case 'absent':
      return revision === undefined;
    case 'revision-in':
      return revision !== undefined && condition.revisions.includes(revision);
    case 'revision-not-in':
      return revision === undefined || !condition.revisions.includes(revision);
  }
}
