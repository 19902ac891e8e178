/** What the statements that create have in common. */

import type { Cursor } from '../rewrite/cursor.ts';
import { hasWords } from '../tokens/tree.ts';

/** What stands between CREATE and the kind of the object. */
export interface Modifiers {
  readonly replaces: boolean;
  readonly temporary: boolean;
  readonly words: readonly string[];
  /** The index of the kind, such as TABLE. */
  readonly at: number;
}

/** Keeps `IF NOT EXISTS`. */
export function keepIfNotExists(cursor: Cursor): boolean {
  if (!hasWords(cursor.nodes, cursor.at, 'IF', 'NOT', 'EXISTS')) return false;
  cursor.keep(3);
  return true;
}
