/** Raft, or the interface of its core, does not keep what it promises. */
export class BrokenPromise extends Error {}
