/** What drivers and systems reject with, of which anything may be missing. */

/** Of sockets, and of names of machines. */
const NETWORK_CODES = /^(ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;

export function valueIn(error: unknown, name: string): unknown {
  return typeof error === 'object' && error !== null && name in error ? Reflect.get(error, name) : undefined;
}

/** '' where it is no text. */
export function textIn(error: unknown, name: string): string {
  const value = valueIn(error, name);
  return typeof value === 'string' ? value : '';
}

/** '' where there is none. */
export function codeOf(error: unknown): string {
  return textIn(error, 'code');
}

export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text === '' ? codeOf(error) : text;
}

/** Also where several addresses were tried. */
export function isNetworkError(error: unknown): boolean {
  return NETWORK_CODES.test(codeOf(error)) || (error instanceof AggregateError && error.errors.some(isNetworkError));
}

/** @throws what `asError` makes of the failure */
export async function told<Result>(work: Promise<Result>, asError: (error: unknown) => unknown): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw asError(error);
  }
}

/** Whether it does. */
export async function succeeds(work: Promise<unknown>): Promise<boolean> {
  return await work.then(
    () => true,
    () => false,
  );
}
