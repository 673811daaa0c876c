/**
 * Scripts of exactly so many moves, as a fast-check arbitrary. Runs differ in style, since what needs many of one kind hardly comes up
 * when all come alike: some prefer some kinds and do without others, some let sessions live and grow old.
 */

import fc from 'fast-check';

import { MOVE_KINDS, PICKS, WEIGHTS, type Move, type MoveKind } from './move.ts';
import { firstAttempt, isAttempt, smaller, type Script } from './smaller-scripts.ts';

/** `lasting`: no session ends, and in many runs little or nothing is acknowledged. */
const STYLES = ['even', 'preferring', 'lasting'] as const;
type Style = (typeof STYLES)[number];
/** A weight is multiplied by one of these in a run that has preferences. */
const PREFERENCES = [0, 1, 1, 4];
const ENDING: readonly MoveKind[] = ['close', 'closeOther', 'expire'];

export class ScriptArbitrary extends fc.Arbitrary<Script> {
  readonly #length: number;

  constructor(length: number) {
    super();
    this.#length = length;
  }

  generate(random: fc.Random): fc.Value<Script> {
    const style = STYLES[random.nextInt(0, STYLES.length - 1)] ?? 'even';
    const deck = drawDeck(random, style);
    const clients = random.nextInt(1, PICKS.who);
    const acks = style === 'lasting' ? random.nextInt(1, PICKS.ack) : PICKS.ack;
    const script = Array.from({ length: this.#length }, () => drawMove(random, deck, clients, acks));
    return new fc.Value<Script>(script, undefined);
  }

  canShrinkWithoutContext(_value: unknown): _value is Script {
    return true;
  }

  /** `context`: where the attempt was that made this script; what was tried before it is not tried again. */
  shrink(script: Script, context?: unknown): fc.Stream<fc.Value<Script>> {
    const attempts = smaller(script, isAttempt(context) ? context : firstAttempt(script));
    return new fc.Stream(attempts).map((attempt) => new fc.Value<Script>(attempt.script, attempt.at));
  }
}

/** Each kind as often as it shall come. */
function drawDeck(random: fc.Random, style: Style): readonly MoveKind[] {
  const deck = MOVE_KINDS.flatMap((kind) => {
    if (style === 'lasting' && ENDING.includes(kind)) return [];
    const factor = style === 'even' ? 1 : (PREFERENCES[random.nextInt(0, PREFERENCES.length - 1)] ?? 1);
    return Array<MoveKind>(WEIGHTS[kind] * factor).fill(kind);
  });
  return deck.length === 0 ? MOVE_KINDS : deck;
}

function drawMove(random: fc.Random, deck: readonly MoveKind[], clients: number, acks: number): Move {
  return {
    kind: deck[random.nextInt(0, deck.length - 1)] ?? 'noop',
    who: random.nextInt(0, clients - 1),
    what: random.nextInt(0, PICKS.what - 1),
    pick: random.nextInt(0, PICKS.pick - 1),
    flavour: random.nextInt(0, PICKS.flavour - 1),
    ack: random.nextInt(0, acks - 1),
  };
}
