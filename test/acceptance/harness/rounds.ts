/**
 * For tests that repeat something at random moments. `npm test` runs a few rounds; `npm run soak` sets
 * TEST_ROUNDS for more. With TEST_SEED a failed run makes the same choices again.
 */
export const testSeed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000);

export function roundsOr(few: number): number {
  return Number(process.env.TEST_ROUNDS ?? few);
}
