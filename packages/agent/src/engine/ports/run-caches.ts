/**
 * What the process of runs keeps from one run to the next: only what follows from the content of published
 * files. It is bounded, and frozen, so that a run cannot leave anything in it.
 */
import { describeSyntaxError, readPipelineFile, type Unreadable } from '@headgate/pipelines';

/** Characters of the files whose parsed pipelines are kept. A parsed one takes several times its text. */
const charactersLimit = 4_000_000;
const pipelinesLimit = 500;
const expressionsLimit = 20_000;
const expressionLength = 2_000;

export type ReadPipeline = Exclude<ReturnType<typeof readPipelineFile>, { error: unknown }> | Unreadable;

export interface RunCaches {
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

export function createRunCaches(): RunCaches {
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

/** Freezes lists, plain objects, maps and sets, and all that they contain. Maps and sets refuse changes. */
function deepFreeze<T>(value: T): T {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const each = open.pop();
    if (!isContainer(each) || Object.isFrozen(each)) continue;
    if (each instanceof Map) {
      for (const entry of each) open.push(...entry);
      lock(each, ['set', 'delete', 'clear']);
    } else if (each instanceof Set) {
      open.push(...each);
      lock(each, ['add', 'delete', 'clear']);
    }
    Object.freeze(each);
    for (const key of Reflect.ownKeys(each)) {
      const member = Object.getOwnPropertyDescriptor(each, key);
      if (member !== undefined && 'value' in member) open.push(member.value);
    }
  }
  return value;
}

/** Not functions and instances of other classes: a frozen regular expression, for example, does not work. */
function isContainer(value: unknown): value is object {
  if (value === null || typeof value !== 'object') return false;
  const prototype = Object.getPrototypeOf(value);
  return [Object.prototype, Array.prototype, Map.prototype, Set.prototype, null].includes(prototype);
}

function lock(collection: object, names: readonly string[]): void {
  const refuse = () => {
    throw new TypeError('this value is shared by runs and cannot change');
  };
  for (const name of names) Object.defineProperty(collection, name, { value: refuse });
}
