/** Whose children are watched: parents that some clients share each, and one that all do. */

/** Of each client, one of them on the parent that all watch. */
export const WATCHES_EACH = 10;
/** How many clients share a parent. */
const CLIENTS_A_PARENT = 90;

export const ROOT = '/resume';
/** A change under it is told to every client. */
export const COMMON = `${ROOT}/common`;

export function parentsFor(clients: number): number {
  return Math.max(WATCHES_EACH - 1, Math.ceil((clients * (WATCHES_EACH - 1)) / CLIENTS_A_PARENT));
}

export function parentOf(n: number): string {
  return `${ROOT}/p-${n}`;
}

/** Different ones of each client: there are as many as one watches, or more. */
export function parentsOf(client: number, parents: number): string[] {
  const first = client * (WATCHES_EACH - 1);
  const own = Array.from({ length: WATCHES_EACH - 1 }, (_, at) => parentOf((first + at) % parents));
  return [COMMON, ...own];
}
