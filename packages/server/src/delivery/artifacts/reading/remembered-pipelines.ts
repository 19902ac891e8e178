/**
 * Remembers the outlines of small pipeline files, so that a version that differs from the last one in a few
 * files reads those only. What a file says depends on nothing but its path and text.
 */
import { hash } from 'node:crypto';
import type { ReadingOrder, ReadPipeline } from './pipeline-reading.ts';

/** Characters of all remembered files. Their outlines take a few times as many bytes. */
const mostCharacters = 4 * 1_048_576;

export interface RememberedPipelines {
  find(order: ReadingOrder): ReadPipeline | undefined;
  remember(order: ReadingOrder, read: ReadPipeline): void;
}

export function rememberPipelines(): RememberedPipelines {
  /** The one that was used last is the last one. */
  const known = new Map<string, { read: ReadPipeline; characters: number }>();
  let characters = 0;
  const keyOf = ({ path, text }: ReadingOrder) => hash('sha256', `${path}\0${text}`, 'base64');
  return {
    find(order) {
      // A file has fewer notes than characters; a lower limit could cut them.
      if (order.most < order.text.length) return undefined;
      const key = keyOf(order);
      const found = known.get(key);
      if (found === undefined) return undefined;
      known.delete(key);
      known.set(key, found);
      return found.read;
    },
    remember(order, read) {
      if (order.most < order.text.length) return;
      const key = keyOf(order);
      const length = order.path.length + order.text.length;
      characters += length - (known.get(key)?.characters ?? 0);
      known.set(key, { read, characters: length });
      for (const [oldest, { characters: freed }] of known) {
        if (characters <= mostCharacters) break;
        known.delete(oldest);
        characters -= freed;
      }
    },
  };
}
