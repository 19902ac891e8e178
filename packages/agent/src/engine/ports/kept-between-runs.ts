/**
 * What the process of runs keeps from one run to the next: only what follows from the content of published
 * files. It is bounded, and frozen, so that a run cannot leave anything in it.
 */
import { describeSyntaxError, readPipelineFile, type Unreadable } from '@headgate/pipelines';
import { deepFreeze } from './deep-freeze.ts';

/** Characters of the files whose parsed pipelines are kept. A parsed one takes several times its text. */
const charactersLimit = 4_000_000;
const pipelinesLimit = 500;
const expressionsLimit = 20_000;
const expressionLength = 2_000;

export type ReadPipeline = Exclude<ReturnType<typeof readPipelineFile>, { error: unknown }> | Unreadable;

export interface KeptBetweenRuns {
  /** Parses a pipeline, unless this content was parsed at this path before. Undefined: there is no file. */
  readPipeline(
    path: string,
    digest: string,
    readText: () => Promise<string | undefined>,
  ): Promise<ReadPipeline | undefined>;
  /** Whether the syntax of an expression was checked, and was right. */
  isSound(expression: string): boolean;
  addSound(expressions: readonly string[]): void;
}

export function createKeptBetweenRuns(): KeptBetweenRuns {
  /** The least recently used first. */
  const pipelines = new Map<string, { read: ReadPipeline; characters: number }>();
  const sound = new Set<string>();
  let characters = 0;

  function removeOldest(): void {
    for (const [key, each] of pipelines) {
      if (characters <= charactersLimit && pipelines.size <= pipelinesLimit) return;
      pipelines.delete(key);
      characters -= each.characters;
    }
  }

  return {
    async readPipeline(path, digest, readText) {
      const key = `${digest}\n${path}`;
      const found = pipelines.get(key);
      if (found !== undefined) {
        pipelines.delete(key);
        pipelines.set(key, found);
        return found.read;
      }
      const text = await readText();
      if (text === undefined) return undefined;
      const parsed = readPipelineFile(path, text);
      const read: ReadPipeline = deepFreeze(
        'error' in parsed ? { reason: describeSyntaxError(parsed.error), line: parsed.error.line } : parsed,
      );
      // Another call may have read it meanwhile.
      if (!pipelines.has(key)) {
        pipelines.set(key, { read, characters: text.length });
        characters += text.length;
        removeOldest();
      }
      return read;
    },
    isSound: (expression) => sound.has(expression),
    addSound(expressions) {
      if (sound.size > expressionsLimit) sound.clear();
      for (const each of expressions) if (each.length <= expressionLength) sound.add(each);
    },
  };
}
