import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  MAX_FRAME_BYTES,
  MAX_MESSAGE_LENGTH,
  MalformedError,
  decodeClientFrame,
  decodeServerFrame,
  encodeClientFrame,
  encodeServerFrame,
  pack,
  type Packable,
} from '../../src/index.ts';
import { clientMessage, serverMessage } from '../support/arbitraries.ts';

/** Byte strings compare by their bytes, whatever class they have. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, field: unknown) =>
      field instanceof Uint8Array ? Buffer.from(field).toString('hex') : field,
    ).replaceAll(/\{"type":"Buffer","data":\[([\d,]*)\]\}/g, (_, bytes: string) =>
      JSON.stringify(Buffer.from(bytes === '' ? [] : bytes.split(',').map(Number)).toString('hex')),
    ),
  );
}

const stat = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

describe('a frame of a client', () => {
  it('comes back as it went', () => {
    fc.assert(
      fc.property(fc.array(clientMessage, { maxLength: 8 }), (messages) => {
        expect(plain(decodeClientFrame(encodeClientFrame(messages)))).toEqual(plain(messages));
      }),
      { numRuns: 500 },
    );
  });

  const released: readonly (readonly [string, Packable])[] = [
    ['hello', [1, 1, 0, 'cluster', 0, false, 1, 'sdk', '1.2', [['token', Uint8Array.of(1)]]]],
    ['attach', [2, 7, Uint8Array.of(1)]],
    ['request', [3, 1, 0, 6, Uint8Array.of(1)]],
    ['read', [4, 7, 0, 0, [1, '/a']]],
    ['heartbeat', [5, 7]],
    ['ping', [6, 7]],
    ['watch', [8, 7, 90, 0, [[2, '/a', true]], [1, [2, '/a']]]],
    ['unwatch', [9, 7, [[3, '/a']]]],
  ];

  it.each(released)('has %s under a number and with fields that never change', (type, tuple) => {
    const [message] = decodeClientFrame(pack([tuple]));
    expect(message?.type).toBe(type);
    expect(encodeClientFrame(message === undefined ? [] : [message])).toEqual(pack([tuple]));
  });

  it.each(released)('may have fields of a later version at the end of %s', (_, tuple) => {
    const longer = [...(tuple as Packable[]), 'new', [1]];
    expect(plain(decodeClientFrame(pack([longer, tuple])))).toEqual(plain(decodeClientFrame(pack([tuple, tuple]))));
  });

  it.each<[string, Packable]>([
    ['message type 10 is unknown', [[10, 1]]],
    ['admin operation type 9 is unknown', [[7, 1, [9, 1]]]],
    ['change of the members type 9 is unknown', [[7, 1, [3, [9, 1]]]]],
    ['frame.message is not a tuple', [1]],
    ['frame.message.type must be', [['hello']]],
    ['frame.message.type must be present', [[]]],
    ['frame.message.clusterId must be', [[1, 1, 0, 'x'.repeat(101)]]],
    ['frame.message.number must be', [[3, -1, 0, 6, Uint8Array.of(1)]]],
    ['frame.message.payload must be', [[3, 1, 0, 6, 'text']]],
    ['consistency must be one that this version knows', [[4, 1, 3, 0, [1, '/a']]]],
    ['query type 99 is unknown', [[4, 1, 0, 0, [99]]]],
    ['frame.message.id must be', [[5, true]]],
    ['kind must be one that this version knows', [[8, 1, 0, 0, [[4, '/a', true]]]]],
    ['query type 99 is unknown', [[8, 1, 0, 0, [], [0, [99]]]]],
    ['message.read is not a tuple', [[8, 1, 0, 0, [], '/a']]],
    ['frame is not a tuple', 'text'],
  ])('is refused: %s', (problem, frame) => {
    expect(() => decodeClientFrame(pack(frame))).toThrow(MalformedError);
    expect(() => decodeClientFrame(pack(frame))).toThrow(problem);
  });
});

describe('a watch message', () => {
  it('that reads nothing says nothing of a read, nor does its answer', () => {
    const watch = [[8, 7, 90, 0, [[2, '/a', true]]]];
    const [asked] = decodeClientFrame(pack(watch));
    expect(asked).toMatchObject({ type: 'watch', read: undefined });
    expect(encodeClientFrame(asked === undefined ? [] : [asked])).toEqual(pack(watch));
    const watching = [[15, 7, 90, Uint8Array.of(1)]];
    const [answered] = decodeServerFrame(pack(watching));
    expect(answered).toMatchObject({ type: 'watching', answer: undefined });
    expect(encodeServerFrame(answered === undefined ? [] : [answered])).toEqual(pack(watching));
  });
});

describe('a grant', () => {
  it('says nothing of a floor where the lock is held alone', () => {
    const [granted] = decodeServerFrame(pack([[7, 100, 'a', 90, 100]]));
    expect(granted).toMatchObject({ type: 'granted', token: 100, floor: undefined });
    expect(encodeServerFrame(granted === undefined ? [] : [granted])).toEqual(pack([[7, 100, 'a', 90, 100]]));
    const [held] = decodeServerFrame(pack([[3, 7, 100, [4, 90, 100]]]));
    expect(held).toMatchObject({ type: 'reply', reply: { type: 'acquire', token: 100, floor: undefined } });
    expect(encodeServerFrame(held === undefined ? [] : [held])).toEqual(pack([[3, 7, 100, [4, 90, 100]]]));
  });
});

describe('a question about the members', () => {
  it('may be for what the server itself knows; without saying so it is for what the leader does', () => {
    const asked = (operation: Packable) => decodeClientFrame(pack([[7, 1, operation]]))[0];
    expect(asked([2])).toEqual({ type: 'admin', id: 1, operation: { type: 'members', local: false } });
    expect(asked([2, true])).toEqual({ type: 'admin', id: 1, operation: { type: 'members', local: true } });
    expect(decodeServerFrame(pack([[14, 1, [2, 0, []]]]))).toMatchObject([{ answer: { leader: 0, index: 0 } }]);
  });
});

describe('a greeting of the first release', () => {
  it('demands nothing', () => {
    expect(decodeClientFrame(pack([[1, 1, 0, 'c']]))).toMatchObject([
      {
        type: 'hello',
        required: 0,
        withoutLeader: false,
        lowestVersion: 0,
        program: '',
        programVersion: '',
        credentials: [],
      },
    ]);
    expect(decodeServerFrame(pack([[1, 1, 0, 'c', 2, 3, []]]))).toMatchObject([
      { type: 'welcome', required: 0, term: 0, spreadMs: 0 },
    ]);
    expect(decodeServerFrame(pack([[12, 22, 'stopping']]))).toEqual([
      { type: 'goodbye', code: 'SHUTTING_DOWN', message: 'stopping' },
    ]);
  });
});

describe('a frame of a server', () => {
  it('comes back as it went', () => {
    fc.assert(
      fc.property(fc.array(serverMessage, { maxLength: 8 }), (messages) => {
        expect(plain(decodeServerFrame(encodeServerFrame(messages)))).toEqual(plain(messages));
      }),
      { numRuns: 500 },
    );
  });

  const released: readonly (readonly [string, Packable])[] = [
    ['welcome', [1, 1, 0, 'cluster', 2, 3, [[1, 'host:1']], 0, 5, 800]],
    ['attached', [2, 7, 100, [7, 1, 2, 3, 4, [['a', 5, 6]]]]],
    ['reply', [3, 7, 100, [1]]],
    ['answer', [4, 7, 100, [2, stat]]],
    ['renewed', [5, 7, 90]],
    ['pong', [6, 7]],
    ['granted', [7, 100, 'a', 90, 100, 95]],
    ['lost', [8, 100, 'a', 90, 3, [[1, 'label', 'a', 2, 'b', 3, 4, 0]]]],
    ['ended', [9, 100, 0]],
    ['resend', [10, 7, 16]],
    ['leader', [11, 2, [[1, 'host:1']], 5, 800]],
    ['goodbye', [12, 22, 'stopping', 250]],
    ['leave', [13]],
    ['admin-answer', [14, 7, [1, 2]]],
    ['watching', [15, 7, 90, Uint8Array.of(1), [2, stat]]],
    [
      'events',
      [
        16,
        0,
        90,
        [
          [0, '/a'],
          [3, '/'],
        ],
      ],
    ],
    ['missed', [17, 7, 80, 90]],
    ['watch-refused', [18, 7, 6, 'why']],
    ['unwatched', [19, 7, 90]],
    ['floor', [20, 100, 'a', 90, 95]],
    ['contended', [21, 100, 'a', 90]],
    ['release-requested', [22, 100, 'a', 90, 30_000, true, 'operator']],
    ['admin-answer', [14, 7, [2, 1, [[4, 1, 'h:1', '', true]], 90]]],
  ];

  it.each(released)('has %s under a number and with fields that never change', (type, tuple) => {
    const [message] = decodeServerFrame(pack([tuple]));
    expect(message?.type).toBe(type);
    expect(encodeServerFrame(message === undefined ? [] : [message])).toEqual(pack([tuple]));
  });

  it.each(released)('may have fields of a later version at the end of %s', (_, tuple) => {
    const longer = [...(tuple as Packable[]), 'new', [1]];
    expect(decodeServerFrame(pack([longer, tuple]))).toEqual(decodeServerFrame(pack([tuple, tuple])));
  });

  it('may have messages of a later version, which are left out', () => {
    const frame = pack([[98], [6, 1], [99, 'new', [[]]], [6, 2]]);
    expect(decodeServerFrame(frame)).toEqual([
      { type: 'pong', id: 1 },
      { type: 'pong', id: 2 },
    ]);
  });

  it('tells codes of a later version as UNSUPPORTED', () => {
    expect(
      decodeServerFrame(
        pack([
          [12, 999, 'text'],
          [10, 3, 998],
        ]),
      ),
    ).toEqual([
      { type: 'goodbye', code: 'UNSUPPORTED', message: 'text' },
      { type: 'resend', from: 3, code: 'UNSUPPORTED' },
    ]);
  });

  it('says nothing of a deadlock where a wait or hold is lost for another reason', () => {
    const lost = [[8, 100, 'a', 90, 1]];
    const [message] = decodeServerFrame(pack(lost));
    expect(message).toMatchObject({ type: 'lost', reason: 'revoked', deadlock: undefined });
    expect(encodeServerFrame(message === undefined ? [] : [message])).toEqual(pack(lost));
  });

  it('keeps the reasons of a loss in their order', () => {
    const ends = [0, 1, 2].map((number) => decodeServerFrame(pack([[9, 1, number]])));
    expect(ends.flat().map((message) => message.type === 'ended' && message.reason)).toEqual([
      'expired',
      'revoked',
      'closed',
    ]);
    const losses = [0, 1, 2, 3].map((number) => decodeServerFrame(pack([[8, 1, 'l', 2, number]])));
    expect(losses.flat().map((message) => message.type === 'lost' && message.reason)).toEqual([
      'expired',
      'revoked',
      'closed',
      'deadlock',
    ]);
  });

  it('tells what only a later version knows as an error of its call, and drops nothing', () => {
    const later = [99, 'anything', [1]];
    const told = { type: 'error', code: 'UNSUPPORTED', message: expect.stringContaining('upgrade the client') };
    const frame = [
      [2, 1, 1, later],
      [3, 1, 1, later],
      [4, 1, 1, later],
      [14, 1, later],
      [6, 8],
    ];
    expect(decodeServerFrame(pack(frame))).toEqual([
      { type: 'attached', id: 1, index: 1, reply: told },
      { type: 'reply', number: 1, index: 1, reply: told },
      { type: 'answer', id: 1, index: 1, answer: told },
      { type: 'admin-answer', id: 1, answer: told },
      { type: 'pong', id: 8 },
    ]);
  });

  it('tells reasons and roles of a later version as what they are at least', () => {
    const members = [2, 1, [[1, 9, 'a:1', '', true]], 5];
    const frame = [
      [8, 1, 'l', 2, 77],
      [9, 1, 77],
      [14, 1, members],
    ];
    expect(decodeServerFrame(pack(frame))).toMatchObject([
      { type: 'lost', reason: 'revoked' },
      { type: 'ended', reason: 'revoked' },
      { type: 'admin-answer', answer: { members: [{ role: 'unknown' }] } },
    ]);
    const [, , answer] = decodeServerFrame(pack(frame));
    // Passed on, it stays one that nobody knows.
    expect(answer && decodeServerFrame(encodeServerFrame([answer]))).toEqual([answer]);
  });

  it('cuts what a goodbye says at its limit', () => {
    const message = 'x'.repeat(2 * MAX_MESSAGE_LENGTH);
    const [goodbye] = decodeServerFrame(encodeServerFrame([{ type: 'goodbye', code: 'MALFORMED', message }]));
    expect(goodbye).toEqual({ type: 'goodbye', code: 'MALFORMED', message: 'x'.repeat(MAX_MESSAGE_LENGTH) });
  });

  it.each<[string, Packable]>([
    ['frame.message.type must be', [[-1]]],
    ['frame.message.members[].clientAddress must be', [[11, 0, [[1, 'x'.repeat(301)]]]]],
    ['frame.message.members[] is not a tuple', [[11, 0, [1]]]],
    ['frame.message.reply is not a tuple', [[3, 1, 1, 'done']]],
    ['frame.message.token must be', [[7, 1, 'a', 1, 0.5]]],
  ])('is refused: %s', (problem, frame) => {
    expect(() => decodeServerFrame(pack(frame))).toThrow(MalformedError);
    expect(() => decodeServerFrame(pack(frame))).toThrow(problem);
  });
});

describe('a frame', () => {
  it('may be empty', () => {
    expect(decodeClientFrame(encodeClientFrame([]))).toEqual([]);
    expect(decodeServerFrame(encodeServerFrame([]))).toEqual([]);
  });

  it('is refused above its limit, before anything is read', () => {
    const frame = new Uint8Array(MAX_FRAME_BYTES + 1);
    expect(() => decodeClientFrame(frame)).toThrow(
      `a frame of ${MAX_FRAME_BYTES + 1} bytes is over ${MAX_FRAME_BYTES}`,
    );
    expect(() => decodeServerFrame(frame)).toThrow(MalformedError);
  });
});
