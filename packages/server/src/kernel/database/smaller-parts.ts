import { RowsTooLarge } from './transaction.ts';

/** Reads up to `limit` rows, fewer if they have more characters than `mostCharacters`, but at least one of any size. */
export async function readSmallerParts<Result>(
  limit: number,
  mostCharacters: number,
  readPart: (limit: number, mostCharacters?: number) => Promise<Result>,
): Promise<Result> {
  for (let part = limit; part > 1; part = Math.ceil(part / 8))
    try {
      return await readPart(part, mostCharacters);
    } catch (failure) {
      if (!(failure instanceof RowsTooLarge)) throw failure;
    }
  return readPart(1);
}
