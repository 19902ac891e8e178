/**
 * Limits how much work of one kind a server holds at once. Work that waits for a host which does not respond keeps its
 * place until a timeout, so one account gets only some of the places.
 *
 * Without a bound, an account gets a further place only while it holds fewer than are free, so accounts whose work
 * hangs leave about as many as each of them holds. A quarter of the places is only for the first work of an account.
 */
export interface Places {
  /** How many are free for all accounts together. */
  countAllFree(): number;
  /** How many more places the account may take now. */
  countFree(accountId: string): number;
  take(accountId: string): void;
  release(accountId: string): void;
  /** The accounts that may take no more places. */
  listFull(): string[];
}

/** @param ofAccount how many places one account may hold; by default what is fair, see above */
export function createPlaces(total: number, ofAccount?: number): Places {
  const held = new Map<string, number>();
  const retained = Math.floor(total / 4);
  let free = total;

  function countFree(accountId: string): number {
    const own = held.get(accountId) ?? 0;
    if (ofAccount !== undefined) return Math.max(0, Math.min(free, ofAccount - own));
    // Each place that it takes is one more of its own and one less that is free.
    const fair = Math.max(0, Math.ceil((free - retained - own) / 2));
    return own === 0 && free > 0 ? Math.max(1, fair) : fair;
  }

  function change(accountId: string, by: 1 | -1): void {
    free -= by;
    const own = (held.get(accountId) ?? 0) + by;
    if (own === 0) held.delete(accountId);
    else held.set(accountId, own);
  }

  return {
    countAllFree: () => free,
    countFree,
    take: (accountId) => change(accountId, 1),
    release: (accountId) => change(accountId, -1),
    listFull: () => [...held.keys()].filter((accountId) => countFree(accountId) === 0),
  };
}
