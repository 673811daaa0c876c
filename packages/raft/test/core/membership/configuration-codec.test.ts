import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MAX_MEMBERS,
  MalformedConfigurationError,
  decodeConfiguration,
  encodeConfiguration,
  finalConfiguration,
  initialConfiguration,
  isJoint,
  jointPromotion,
  jointRemoval,
  serverId,
  voterSets,
  withMember,
  withoutMember,
  type Configuration,
} from '../../../src/core/index.ts';

const text = fc.string({ maxLength: 40 });

const configurations: fc.Arbitrary<Configuration> = fc
  .record({
    ids: fc.uniqueArray(fc.integer({ min: 1, max: 2 ** 31 }), { maxLength: MAX_MEMBERS }),
    roles: fc.array(fc.constantFrom('voter', 'learner', 'observer'), {
      minLength: MAX_MEMBERS,
      maxLength: MAX_MEMBERS,
    }),
    texts: fc.array(fc.tuple(text, text, text, text), { minLength: MAX_MEMBERS, maxLength: MAX_MEMBERS }),
    joint: fc.boolean(),
    retired: fc.uniqueArray(fc.integer({ min: 2 ** 32, max: 2 ** 52 }), { maxLength: 5 }),
  })
  .map(({ ids, roles, texts, joint, retired }) => {
    const members = ids
      .toSorted((a, b) => a - b)
      .map((id, position) => {
        const role = roles[position] ?? 'voter';
        const [peerAddress, clientAddress, incarnation, joinSecret] = texts[position] ?? ['', '', '', ''];
        const told = { peerAddress, clientAddress, incarnation, joinSecret };
        return { id: serverId(id), role, outgoing: false, ...told } as const;
      });
    const former = retired.map((id) => ({ id: serverId(id), peerAddress: `gone:${id}`, incarnation: `disk-${id}` }));
    const stable: Configuration = { members, retired: retired.toSorted((a, b) => a - b).map(serverId), former };
    const voter = members.find(({ role }) => role === 'voter');
    return joint && voter !== undefined ? jointRemoval(stable, voter.id) : stable;
  });

const member = (id: number, role: 'learner' | 'observer') =>
  ({
    id: serverId(id),
    peerAddress: 'p',
    clientAddress: '',
    incarnation: '',
    joinSecret: '',
    role,
    outgoing: false,
  }) as const;

const initial = initialConfiguration([3, 1, 2].map((id) => ({ id: serverId(id), peerAddress: `host:${id}` })));

describe('a configuration as bytes', () => {
  it('is read back as it was', () => {
    fc.assert(
      fc.property(configurations, (configuration) => {
        expect(decodeConfiguration(encodeConfiguration(configuration))).toEqual(configuration);
      }),
    );
  });

  it('is refused when it is cut anywhere, or goes on', () => {
    const bytes = encodeConfiguration(jointRemoval(initial, serverId(2)));
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decodeConfiguration(bytes.subarray(0, length))).toThrow(MalformedConfigurationError);
    }
    expect(() => decodeConfiguration(new Uint8Array([...bytes, 0]))).toThrow(/1 bytes behind its end/);
  });

  it('is refused, and never anything worse, whatever the bytes are', () => {
    const whole = encodeConfiguration(withoutMember(withMember(initial, member(9, 'learner')), serverId(9)));
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), (position, value) => {
        const bytes = whole.slice();
        bytes[position] = value;
        try {
          decodeConfiguration(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedConfigurationError);
        }
      }),
    );
  });
});

describe('a change of voters', () => {
  it('needs both majorities on its way, and those of the new voters at its end', () => {
    const five = withMember(initial, member(4, 'learner'));
    const way = jointPromotion(five, serverId(4));
    expect(isJoint(way)).toBe(true);
    expect(voterSets(way)).toEqual([
      [1, 2, 3, 4],
      [1, 2, 3],
    ]);
    expect(voterSets(finalConfiguration(way))).toEqual([[1, 2, 3, 4]]);
  });

  it('retires the id of a voter that is removed, and of a learner', () => {
    const way = jointRemoval(withMember(initial, member(7, 'observer')), serverId(1));
    expect(voterSets(way)).toEqual([
      [2, 3],
      [1, 2, 3],
    ]);
    const end = finalConfiguration(way);
    expect(end.members.map(({ id, outgoing }) => [id, outgoing])).toEqual([
      [2, false],
      [3, false],
      [7, false],
    ]);
    expect(withoutMember(end, serverId(7)).retired).toEqual([1, 7]);
  });
});
