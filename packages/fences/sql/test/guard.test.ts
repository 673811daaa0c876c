import { describe, expect, it } from 'vitest';
import { Guard, shown, statementsThatBegin } from '../src/guard.ts';

function guarded() {
  const sent: unknown[] = [];
  const connection = {
    id: 7,
    query: (...args: readonly unknown[]): string => {
      sent.push(args);
      return 'rows';
    },
    release: (): void => void sent.push('released'),
    escape(text: string): string {
      return `${this.id}:${text}`;
    },
  };
  const guard = new Guard(connection, {
    sending: /^query$/,
    ending: /^release$/,
    endingStatements: statementsThatBegin(String.raw`commit\b`),
  });
  return { guard, sent };
}

describe('the connection as a body has it', () => {
  it('sends statements with their values, and has what else the driver offers', () => {
    const { guard, sent } = guarded();
    expect(guard.tx.query('SELECT $1', [5])).toBe('rows');
    expect(sent).toEqual([['SELECT $1', [5]]]);
    expect([guard.tx.id, guard.tx.escape('x')]).toEqual([7, '7:x']);
  });

  it.each(['commit', '  COMMIT;', '/* so */ COMMIT', '-- so\n# and so\ncommit', { text: 'commit' }, { sql: 'COMMIT' }])(
    'refuses %j',
    (statement) => {
      const { guard, sent } = guarded();
      expect(() => guard.tx.query(statement)).toThrow('would end the transaction: let the body return to commit');
      expect(sent).toEqual([]);
    },
  );

  it.each(['SELECT 1', 'committee', "INSERT INTO t VALUES ('COMMIT')", { values: [] }, undefined, null, 5])(
    'sends %j',
    (statement) => {
      const { guard, sent } = guarded();
      guard.tx.query(statement);
      expect(sent).toEqual([[statement]]);
    },
  );

  it('does not give itself back', () => {
    const { guard, sent } = guarded();
    expect(() => guard.tx.release()).toThrow('tx.release() would end the transaction');
    expect(sent).toEqual([]);
  });

  it('sends nothing behind the end', () => {
    const { guard, sent } = guarded();
    guard.close();
    expect(() => guard.tx.query('SELECT 1')).toThrow('"SELECT 1" was not sent: await every statement in the body');
    expect(sent).toEqual([]);
  });

  it('shows long statements by their beginning', () => {
    expect(shown('x'.repeat(61))).toBe(`"${'x'.repeat(60)}…"`);
    expect(shown('x"')).toBe(String.raw`"x\""`);
  });
});
