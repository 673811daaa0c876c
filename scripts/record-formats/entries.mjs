// A log in which clients and leaders have done everything once that they can: undefined stands for an entry of Raft's own.

const VIA = 1;
const EPOCH_MS = 1_700_000_000_000;

/** @returns the bytes of the entries from index 1 on, as the given build writes them */
export function recordedEntries(
  { CommandType, CreateMode, LockKind, encodeCommand },
  { encodeEntry, LATEST_STATE_VERSION, stampEntry },
) {
  const entries = [];
  const add = (header, command) => {
    const whole = { generation: 0, session: 0, number: 0, ackedUpTo: 0, ...header, command: CommandType[command.type] };
    const entry = encodeEntry(whole, encodeCommand(command));
    stampEntry(entry, EPOCH_MS + entries.length, VIA);
    entries.push(entry);
    return entries.length;
  };
  const secretOf = (n) => new Uint8Array(32).fill(n);
  const open = (n, label) => {
    const attach = { type: 'attach', secretHash: secretOf(n), session: 0, timeoutMs: 10_000, label };
    const session = add({ number: 4_711 }, attach);
    let number = 0;
    return {
      session,
      send: (command, ackedUpTo = 0) => {
        number += 1;
        return add({ session, generation: 1, number, ackedUpTo }, command);
      },
      again: () => add({ number: 4_712 }, { ...attach, session }),
    };
  };
  const bytes = (text) => new TextEncoder().encode(text);
  const acquire = (lock, wait = true) => ({ type: 'acquire', lock, kind: LockKind.mutex, wait });

  entries.push(undefined);
  const [holder, waiter, leaver] = [open(1, 'worker ä'), open(2, ''), open(3, 'leaver')];
  for (const [name, mode] of Object.entries(CreateMode)) {
    holder.send({ type: 'create', path: `/${name}-ü-中`, data: bytes(name), mode });
  }
  holder.send({ type: 'create', path: '/large', data: new Uint8Array(700).fill(7), mode: CreateMode.persistent }, 3);
  holder.send({ type: 'create', path: '/large/child', data: bytes(''), mode: CreateMode.persistent });
  holder.send({ type: 'set', path: '/large', data: new Uint8Array(600).fill(8), version: 0 });
  holder.send({ type: 'set', path: '/large', data: bytes(''), version: 7 });
  holder.send({ type: 'delete', path: '/large/child', version: -1 });
  holder.send({ type: 'create', path: '/holdfast/no', data: bytes(''), mode: CreateMode.persistent });
  holder.send({ type: 'create', path: '/later', data: bytes(''), mode: 255 });
  holder.send({ type: 'acquire', lock: 'of a later kind', kind: 255, wait: true });
  const given = leaver.send(acquire('held'));
  holder.send(acquire('held'));
  waiter.send(acquire('held'));
  waiter.send(acquire('held', false));
  const ended = waiter.send(acquire('of/another name %'));
  waiter.send({ type: 'cancel', lock: 'of/another name %', acquireIndex: ended });
  leaver.send({ type: 'release', lock: 'held', acquireIndex: given });
  leaver.send({ type: 'refuse', server: 2 });
  for (let version = 2; version <= LATEST_STATE_VERSION; version += 1) add({}, { type: 'raiseStateVersion', version });
  const several = (locks) => ({ type: 'acquireSeveral', locks, wait: true });
  const write = { lock: 'read and written', kind: LockKind.readWrite, parameters: [true] };
  const written = holder.send({ type: 'acquire', ...write, wait: true });
  const pool = { lock: 'pool', kind: LockKind.semaphore, parameters: [2, 5] };
  waiter.send(several([pool, { lock: 'alone', kind: LockKind.mutex, parameters: [] }]));
  holder.send(
    several([
      { ...pool, parameters: [4, 5] },
      { ...write, lock: 'another' },
    ]),
  );
  waiter.send({ type: 'acquire', ...write, wait: true, parameters: [false] });
  holder.send({ type: 'downgrade', lock: write.lock, acquireIndex: written });
  leaver.send({ type: 'revoke', lock: write.lock, acquireIndex: written });
  const plain = (lock) => ({ lock, kind: LockKind.mutex, parameters: [] });
  const options = { wait: true, lockDelayMs: 5_000, abortInDeadlock: false };
  const lost = open(5, 'lost');
  lost.send({ type: 'acquireWith', locks: [plain('delayed'), plain('delayed still')], ...options });
  holder.send({ type: 'acquireWith', locks: [plain('kept')], ...options });
  const over = add({}, { type: 'expireSession', session: lost.session, generation: 1 });
  add({}, { type: 'endLockDelay', lock: 'delayed', index: over });
  leaver.send({ type: 'closeSession', session: 0 });
  add({ session: waiter.session, generation: 1, number: 60 }, acquire('out of order'));
  waiter.again();
  add({}, { type: 'expireSession', session: waiter.session, generation: 1 });
  add({}, { type: 'continueEnd', session: waiter.session });
  const expired = open(4, 'expired');
  expired.send({ type: 'create', path: '/expired', data: bytes('x'), mode: CreateMode.ephemeral });
  add({}, { type: 'expireSession', session: expired.session, generation: 1 });
  entries.push(undefined);
  return entries;
}
