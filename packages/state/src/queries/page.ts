/** How much of a listing one answer has. */

import { MAX_PAGE_ENTRIES } from '@holdfast/protocol';

export function pageSize(limit: number): number {
  return Math.max(1, Math.min(MAX_PAGE_ENTRIES, limit));
}
