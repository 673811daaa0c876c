/** What a compliance suite needs of the implementation that it runs over, in real or in virtual time. */

export interface Fixture {
  /** Lets the world go on until the promise is settled, and gives its outcome. */
  complete<T>(promise: Promise<T>): Promise<T>;
  /** Lets the world go on until the condition holds; rejects after a bound. */
  until(condition: () => boolean): Promise<void>;
  teardown(): Promise<void>;
}
