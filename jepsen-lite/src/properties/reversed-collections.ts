/**
 * Maps and Sets that iterate backwards. A replica restored from a snapshot has inserted in another order than one that applied every
 * entry, and no result may depend on that: a machine that runs on these shows it, whatever the order of its entries was.
 */

class ReversedMap<Key, Value> extends Map<Key, Value> {
  override entries(): MapIterator<[Key, Value]> {
    return [...super.entries()].reverse().values();
  }

  override keys(): MapIterator<Key> {
    return [...super.keys()].reverse().values();
  }

  override values(): MapIterator<Value> {
    return [...super.values()].reverse().values();
  }

  override [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.entries();
  }

  override forEach(callback: (value: Value, key: Key, map: Map<Key, Value>) => void, self?: unknown): void {
    for (const [key, value] of this.entries()) callback.call(self, value, key, this);
  }
}

class ReversedSet<Value> extends Set<Value> {
  override entries(): SetIterator<[Value, Value]> {
    return [...super.entries()].reverse().values();
  }

  override keys(): SetIterator<Value> {
    return this.values();
  }

  override values(): SetIterator<Value> {
    return [...super.values()].reverse().values();
  }

  override [Symbol.iterator](): SetIterator<Value> {
    return this.values();
  }

  override forEach(callback: (value: Value, key: Value, set: Set<Value>) => void, self?: unknown): void {
    for (const value of this.values()) callback.call(self, value, value, this);
  }
}

/** Runs `work`, which must be synchronous, with every Map and Set that it makes iterating backwards. */
export function withReversedCollections<T>(work: () => T): T {
  const { Map: originalMap, Set: originalSet } = globalThis;
  globalThis.Map = ReversedMap as MapConstructor;
  globalThis.Set = ReversedSet as SetConstructor;
  try {
    return work();
  } finally {
    globalThis.Map = originalMap;
    globalThis.Set = originalSet;
  }
}
