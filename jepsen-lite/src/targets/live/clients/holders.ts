/** Who holds a lock, as far as clients have been told: known from what they tell while they do, so that nemeses can strike holders. */

import type { HistoryEventBody } from '../../../history/history.ts';
import { locksBeside } from '../../../plan/lock-names.ts';

export class Holders {
  /** The client and the token, by lock. */
  readonly #holders = new Map<string, { readonly client: string; readonly token: number }>();

  heed(client: string, event: HistoryEventBody): void {
    if (event.type === 'ok' && (event.f === 'acquire' || event.f === 'enter')) {
      this.#granted(event.lock, client, event.token);
    } else if (event.type === 'invoke' && (event.f === 'release' || event.f === 'leave')) {
      this.#over(event.lock, event.token);
    }
    if (event.type === 'lost') this.#over(event.lock, event.token);
  }

  /** It was killed: what it held nobody holds, though the ensemble will take a while to know. */
  died(client: string): void {
    for (const [lock, holder] of this.#holders) if (holder.client === client) this.#holders.delete(lock);
  }

  /** Of that lock, or of one beside it. */
  of(lock: string): string | undefined {
    for (const name of locksBeside(lock)) {
      const holder = this.#holders.get(name);
      if (holder !== undefined) return holder.client;
    }
    return undefined;
  }

  #granted(lock: string, client: string, token: number): void {
    if ((this.#holders.get(lock)?.token ?? 0) < token) this.#holders.set(lock, { client, token });
  }

  #over(lock: string, token: number): void {
    if (this.#holders.get(lock)?.token === token) this.#holders.delete(lock);
  }
}
