/** Who holds a lock, as far as clients have been told: known from what they tell while they do, so that nemeses can strike holders. */

import type { HistoryEventBody } from '../../../history/history.ts';

export class Holders {
  /** The client and the token, by lock. */
  readonly #holders = new Map<string, { readonly client: string; readonly token: number }>();

  heed(client: string, event: HistoryEventBody): void {
    if (event.type === 'ok' && event.f === 'acquire') this.#granted(event.lock, client, event.token);
    else if (event.type === 'invoke' && event.f === 'release') this.#over(event.lock, event.token);
    else if (event.type === 'lost') this.#over(event.lock, event.token);
  }

  /** It was killed: what it held nobody holds, though the ensemble will take a while to know. */
  died(client: string): void {
    for (const [lock, holder] of this.#holders) if (holder.client === client) this.#holders.delete(lock);
  }

  of(lock: string): string | undefined {
    return this.#holders.get(lock)?.client;
  }

  #granted(lock: string, client: string, token: number): void {
    if ((this.#holders.get(lock)?.token ?? 0) < token) this.#holders.set(lock, { client, token });
  }

  #over(lock: string, token: number): void {
    if (this.#holders.get(lock)?.token === token) this.#holders.delete(lock);
  }
}
