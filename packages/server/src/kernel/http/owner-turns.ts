/**
 * Bounds how many tasks of one owner run at once, so that one account cannot hold all connections of the
 * database. Further tasks wait in order.
 */

export interface OwnerTurns {
  /** Throws `refused()` if too many tasks of this owner wait. */
  run<Result>(owner: string, task: () => Promise<Result>): Promise<Result>;
}

export function createOwnerTurns(
  bounds: { running: number; waiting: number },
  refused: () => Error,
): OwnerTurns {
  const owners = new Map<string, { running: number; waiting: (() => void)[] }>();

  async function takeTurn(owner: string): Promise<void> {
    const of = owners.get(owner) ?? { running: 0, waiting: [] };
    owners.set(owner, of);
    if (of.running < bounds.running) {
      of.running += 1;
      return;
    }
    if (of.waiting.length >= bounds.waiting) throw refused();
    await new Promise<void>((resolve) => of.waiting.push(resolve));
  }

  /** Gives the turn to the next task of the owner. */
  function endTurn(owner: string): void {
    const of = owners.get(owner);
    if (of === undefined) return;
    const next = of.waiting.shift();
    if (next === undefined) of.running -= 1;
    else next();
    if (of.running === 0) owners.delete(owner);
  }

  return {
    async run(owner, task) {
      await takeTurn(owner);
      try {
        return await task();
      } finally {
        endTurn(owner);
      }
    },
  };
}
