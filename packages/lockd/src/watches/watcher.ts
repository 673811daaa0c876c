/** A client that watches, as the table knows it: its rows, what of the present entry it is to hear, and up to where it was told. */

import type { NodeEvent } from '@holdfast/protocol';
import type { SessionClient } from '../port/session-client.ts';
import { NONE } from './watch-rows.ts';

export class Watcher {
  readonly client: SessionClient;
  readonly number: number;
  firstRow = NONE;
  /** Watches, as they count against limits. */
  weight = 0;
  rows = 0;
  /** Rows with a recursive watch. */
  recursive = 0;
  /** Of the entry that is being applied. */
  events: NodeEvent[] = [];
  /** Of the change that was told last: who watches it in several ways hears of it once. */
  lastChange = 0;
  /** Bytes of events of this turn, which have not left. */
  turnBytes = 0;
  /** It reads too slowly: since which index it is told nothing; undefined while it is told everything. */
  behindFrom: number | undefined;

  constructor(client: SessionClient, number: number) {
    this.client = client;
    this.number = number;
  }
}
