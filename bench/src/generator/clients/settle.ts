/** From a client library's promises to the callbacks that the works are written with. */

export function settle<T>(work: Promise<T>, kept: (value: T) => void, broken: (error: Error) => void): void {
  work.then(kept, (error: unknown) => broken(error instanceof Error ? error : new Error(String(error))));
}
