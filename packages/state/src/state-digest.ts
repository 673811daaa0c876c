/**
 * A running hash over what every entry did: servers whose digests differ at one index have diverged. Two 32-bit lanes, so that a
 * mix costs a few integer operations; the value is cut to 53 bits, which a double holds. It finds accidents, not forgeries.
 */
export class StateDigest {
  #low = 0x9e3779b9 | 0;
  #high = 0x243f6a88 | 0;

  /** A safe integer of 53 bits. */
  get value(): number {
    return (this.#high >>> 11) * 0x1_0000_0000 + (this.#low >>> 0);
  }

  /** The whole of it, as 32-bit integers. */
  get lanes(): { readonly low: number; readonly high: number } {
    return { low: this.#low, high: this.#high };
  }

  /** Goes on from the lanes of another. */
  restore({ low, high }: { readonly low: number; readonly high: number }): void {
    this.#low = low | 0;
    this.#high = high | 0;
  }

  /** Takes any safe integer; the order of calls counts. */
  mix(value: number): void {
    // ToInt32 is exact modulo 2^32, whatever the size of the integer.
    const upper = Math.floor(value / 0x1_0000_0000) | 0;
    let low = Math.imul(this.#low ^ (value | 0), 0x85ebca6b);
    low = (low ^ (low >>> 15)) + Math.imul(upper, 0x27d4eb2f);
    let high = Math.imul(this.#high ^ low, 0xc2b2ae35);
    high ^= high >>> 13;
    this.#low = Math.imul(low ^ high, 0x165667b1) | 0;
    this.#high = (high + low) | 0;
  }
}
