/**
 * For tests that repeat something at random moments, or with many choices. `npm test` runs a few rounds;
 * `npm run soak` sets TEST_ROUNDS for more. With TEST_SEED a failed run makes the same choices again.
 */
export const testSeed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000);

export function roundsOr(few: number): number {
  return Number(process.env.TEST_ROUNDS ?? few);
}

/** Whether one of `count` choices is tried in this run. `npm test` tries a few, and others the next time. */
export function isInTurn(choice: number, count: number, few: number): boolean {
  return (choice + testSeed) % count < roundsOr(few);
}
