import { clientOf, linesOf } from '@holdfast/fence/test/page';
import { describe, expect, it } from 'vitest';
import { fence, highest, migrate, StaleTokenError } from '../src/index.ts';
import { DRIVERS } from './support/drivers.ts';

describe.each(Object.entries(DRIVERS))('docs/fences-sqlite.md › with %s', (_name, open) => {
  it('its lines do what they say', async () => {
    const database = open();
    database.exec(
      "CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT); INSERT INTO jobs VALUES (42, 'ready'), (43, 'ready')",
    );
    const given = (token: number): Readonly<Record<string, unknown>> => ({
      fence,
      migrate,
      // A constructor may give another object.
      Database: function Given() {
        return database;
      },
      client: clientOf(token),
    });
    await linesOf('docs/fences-sqlite.md', given(7))();
    await expect(linesOf('docs/fences-sqlite.md', given(5))()).rejects.toBeInstanceOf(StaleTokenError);
    const stateOf = (id: number): unknown =>
      (database.prepare(`SELECT state FROM jobs WHERE id = ${id}`).get() as { readonly state: unknown }).state;
    expect([stateOf(42), stateOf(43)]).toEqual(['running', 'ready']);
    expect(highest(database, 'jobs')).toBe(7);
    database.close();
  });
});
