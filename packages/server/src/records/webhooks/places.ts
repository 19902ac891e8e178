/**
 * The places of a server: how many webhooks it sends for at once. A receiver that hangs holds its place until
 * the timeout. An account gets a further place only while it holds fewer than are free, so accounts with hanging
 * receivers leave about as many as each of them holds. A quarter of the places is only for the first webhook of
 * an account.
 */
export interface Places {
  /** How many more places the account may take now. */
  countFree(accountId: string): number;
  take(accountId: string): void;
  release(accountId: string): void;
  /** The accounts that may take no more places. */
  listFull(): string[];
}

export function createPlaces(total: number): Places {
  const held = new Map<string, number>();
  const kept = Math.floor(total / 4);
  let free = total;

  function countFree(accountId: string): number {
    const own = held.get(accountId) ?? 0;
    // Each place that it takes is one more of its own and one less that is free.
    const fair = Math.max(0, Math.ceil((free - kept - own) / 2));
    return own === 0 && free > 0 ? Math.max(1, fair) : fair;
  }

  function change(accountId: string, by: 1 | -1): void {
    free -= by;
    const own = (held.get(accountId) ?? 0) + by;
    if (own === 0) held.delete(accountId);
    else held.set(accountId, own);
  }

  return {
    countFree,
    take: (accountId) => change(accountId, 1),
    release: (accountId) => change(accountId, -1),
    listFull: () => [...held.keys()].filter((accountId) => countFree(accountId) === 0),
  };
}
