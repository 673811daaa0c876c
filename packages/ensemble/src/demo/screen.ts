/** The story on a screen, line by line as it happens: a column for A, one for B, and what happens to them across both. */

import { DEPOSIT_OF_A, DEPOSIT_OF_B, type StoryEvent, type StoryFact } from './event.ts';

export interface ScreenOptions {
  /** Of the terminal, in characters. */
  readonly columns: number;
  /** Escape sequences of colour; for terminals only. */
  readonly colour: boolean;
}

type Colour = 'A' | 'B' | 'demo' | 'good' | 'bad' | 'faint';
const CODES: Readonly<Record<Colour, string>> = {
  A: '\u001b[36m',
  B: '\u001b[33m',
  demo: '\u001b[1m',
  good: '\u001b[32m',
  bad: '\u001b[31m',
  faint: '\u001b[2m',
};
const RESET = '\u001b[0m';
const TIME_WIDTH = 7;
const MIN_COLUMN = 34;
const MAX_COLUMN = 58;

export class Screen {
  readonly #column: number;
  readonly #colour: boolean;
  #startMs: number | undefined;
  /** A has been stopped and goes on: what it writes now is late. */
  #late = false;

  constructor({ columns, colour }: ScreenOptions) {
    this.#column = Math.min(MAX_COLUMN, Math.max(MIN_COLUMN, Math.floor((columns - TIME_WIDTH - 2) / 2)));
    this.#colour = colour;
  }

  /** The heads of the columns. */
  head(): string {
    const a = this.#paint('A'.padEnd(this.#column), 'A');
    return `${' '.repeat(TIME_WIDTH)} ${a} ${this.#paint('B', 'B')}\n`;
  }

  /** Empty for what only the verdict needs. */
  lines({ at, who, fact }: StoryEvent): string {
    this.#startMs ??= at;
    if (fact.type === 'resumed') this.#late = true;
    const said = sayOf(fact, this.#late);
    if (said === undefined) return '';
    const seconds = `${((at - this.#startMs) / 1_000).toFixed(1)} s`.padStart(TIME_WIDTH);
    if (who === 'demo') {
      const text = ` ${said.text} `;
      const dashes = '─'.repeat(Math.max(2, Math.floor((2 * this.#column - text.length) / 2)));
      return `${this.#paint(seconds, 'faint')} ${this.#paint(`${dashes}${text}${dashes}`, 'demo')}\n`;
    }
    const indent = who === 'A' ? '' : ' '.repeat(this.#column + 1);
    return wrap(said.text, this.#column - 1)
      .map((line, n) => {
        const time = n === 0 ? this.#paint(seconds, 'faint') : ' '.repeat(TIME_WIDTH);
        return `${time} ${indent}${this.#paint(n === 0 ? line : `  ${line}`, said.colour ?? who)}\n`;
      })
      .join('');
  }

  /** What is left, and one plain sentence. */
  end(fenced: string | null, unfenced: string | null): string {
    const saved = `B's ${DEPOSIT_OF_B} € are there`;
    const lost = `B's ${DEPOSIT_OF_B} € are gone`;
    const row = (name: string, value: string | null, text: string, colour: Colour): string =>
      `  ${name.padEnd(22)}${this.#paint(`${value ?? 'nothing'} €`.padEnd(9), colour)}${this.#paint(text, colour)}\n`;
    return (
      `\n${row('with the fence', fenced, saved, 'good')}${row('without the fence', unfenced, lost, 'bad')}\n` +
      `A's late write overwrote what B had deposited where nobody looked at the token, and was refused where the store did.\n`
    );
  }

  #paint(text: string, colour: Colour): string {
    return this.#colour ? `${CODES[colour]}${text}${RESET}` : text;
  }
}

interface Said {
  readonly text: string;
  readonly colour?: Colour;
}

function sayOf(fact: StoryFact, late: boolean): Said | undefined {
  switch (fact.type) {
    case 'waiting':
      return { text: 'asks for the lock' };
    case 'granted':
      return { text: `has the lock, with token ${fact.token}` };
    case 'read':
      return fact.bucket === 'fenced' ? { text: `reads the balance: ${fact.value ?? 'nothing'} €` } : undefined;
    case 'writing':
      return fact.bucket === 'fenced'
        ? { text: `begins to write ${fact.value} €, ${DEPOSIT_OF_A} more: it is under way` }
        : undefined;
    case 'wrote': {
      const store = `in the store ${fact.bucket === 'fenced' ? 'with' : 'without'} the fence`;
      if (late) return { text: `${fact.value} € written OVER IT ${store}`, colour: 'bad' };
      return { text: `${fact.value} € written ${store}` };
    }
    case 'refused':
      return fact.code === 'STALE_TOKEN'
        ? { text: `REFUSED by the fence: token ${fact.presented} is below ${fact.highest}`, colour: 'good' }
        : { text: `refused: ${fact.code}`, colour: 'bad' };
    case 'lost':
      // The other reasons are how the story is cleared away.
      return fact.reason === 'expired'
        ? { text: 'hears that its lock is lost: too late, its write has left', colour: 'faint' }
        : undefined;
    case 'failed':
      return { text: `fails: ${fact.message}`, colour: 'bad' };
    case 'stopped':
      return { text: 'A is stopped in the midst of its write, as by a long pause. It knows nothing of it.' };
    case 'resumed':
      return { text: 'A goes on where it was' };
    case 'connected':
    case 'installed':
    case 'sessions':
    case 'checked':
    case 'found':
      return undefined;
  }
}

/** At spaces, as far as possible. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width - 2) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
