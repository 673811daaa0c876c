/** How much of something each owner has: an immutable map from owners to whole numbers, without zeros. */

export type Shares = ReadonlyMap<string, number>;

export const NO_SHARES: Shares = new Map();

export function changed(shares: Shares, owner: string, by: number): Shares {
  const next = new Map(shares);
  const count = (shares.get(owner) ?? 0) + by;
  if (count === 0) next.delete(owner);
  else next.set(owner, count);
  return next;
}

export function without(shares: Shares, owner: string): Shares {
  return shares.has(owner) ? changed(shares, owner, -(shares.get(owner) ?? 0)) : shares;
}

export function total(shares: Shares): number {
  let sum = 0;
  for (const count of shares.values()) sum += count;
  return sum;
}

export function keyOfShares(shares: Shares): string {
  return JSON.stringify([...shares].sort(([left], [right]) => (left < right ? -1 : 1)));
}

export function describeShares(shares: Shares): string {
  return [...shares].map(([owner, count]) => (count === 1 ? owner : `${owner} (${count})`)).join(', ');
}
